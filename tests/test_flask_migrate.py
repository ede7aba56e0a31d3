"""A site whose own migrations own our tables, by Flask-Migrate."""

from __future__ import annotations

import pathlib
import typing as t

import flask
import flask_migrate
import pytest
import sqlalchemy as sa
from flask_sqlalchemy import SQLAlchemy

from flask_chat_memory.migrations.version import schema_versions
from flask_chat_memory.plugins.sql.engines import check_url
from flask_chat_memory.plugins.sqlalchemy import define_tables
from flask_chat_memory.storage.sqlalchemy import define_document_table
from tests.migrated import schemas_of
from tests.migrated import upgrade_all
from tests.sql_servers import Place
from tests.test_sqlalchemy_plugin import every_call

# By the env.py that Flask-Migrate makes.
pytestmark = pytest.mark.filterwarnings("ignore:'get_engine' is deprecated:DeprecationWarning")

IMPORT = "import flask_chat_memory.plugins.sql.tables"
"""The type of names on MariaDB, which Alembic writes into a migration without its import."""


def site_of(place: Place, folder: pathlib.Path) -> flask.Flask:
    """Return a site with a table of its own and ours, whose folder of migrations is ready."""
    app = flask.Flask("shop", instance_path=str(folder))
    app.config["SQLALCHEMY_DATABASE_URI"] = check_url(place.url)
    db = SQLAlchemy(app)
    db.Table("product", db.metadata, sa.Column("id", sa.Integer, primary_key=True))
    define_tables(db.metadata)
    define_document_table(db.metadata)
    flask_migrate.Migrate(app, db, directory=str(folder / "migrations"), compare_server_default=True)
    with app.app_context():
        flask_migrate.init()
    # It would switch off the loggers of the tests.
    env = folder / "migrations" / "env.py"
    env.write_text(env.read_text().replace("fileConfig(config.config_file_name)", ""))
    template = folder / "migrations" / "script.py.mako"
    template.write_text(
        template.read_text().replace("import sqlalchemy as sa\n", f"import sqlalchemy as sa\n{IMPORT}\n")
    )
    return app


@pytest.mark.scenario("S186")
def test_the_migrations_of_a_site_make_our_tables_and_propose_nothing_after(
    any_place: Place, tmp_path: pathlib.Path
) -> None:
    app = site_of(any_place, tmp_path)
    with app.app_context():
        flask_migrate.migrate(message="Chat memory")
        flask_migrate.upgrade()
        assert proposes_nothing(tmp_path)
        every_call(any_place.make_plugin(create_tables=False))
        any_place.make_storage(create_tables=False).save("a", {"text": "b"})
        assert {one.state for one in schema_versions(schemas_of(any_place))} == {"unmarked"}
        # Whoever runs our command all the same does no harm.
        upgrade_all(any_place)
        assert proposes_nothing(tmp_path)
        close(app)


def test_tables_that_our_migrations_made_are_taken_over(file_place: Place, tmp_path: pathlib.Path) -> None:
    app = site_of(file_place, tmp_path)
    upgrade_all(file_place)
    with app.app_context():
        flask_migrate.migrate(message="Products")
        [revision] = (tmp_path / "migrations" / "versions").glob("*.py")
        assert "product" in revision.read_text() and "chat_memory" not in revision.read_text().replace(IMPORT, "")
        flask_migrate.upgrade()
        assert proposes_nothing(tmp_path)
        close(app)


@pytest.mark.parametrize("page", ["upgrading.md", "database.md"])
def test_the_docs_name_the_import_that_migrations_need(page: str) -> None:
    assert f"\n{IMPORT}\n" in (pathlib.Path(__file__).parents[1] / "docs" / page).read_text()


def proposes_nothing(folder: pathlib.Path) -> bool:
    """Tell whether another look at the database finds no reason for a migration."""
    before = list((folder / "migrations" / "versions").glob("*.py"))
    flask_migrate.migrate()
    return list((folder / "migrations" / "versions").glob("*.py")) == before


def close(app: flask.Flask) -> None:
    for engine in t.cast("dict[object, sa.Engine]", app.extensions["sqlalchemy"].engines).values():
        engine.dispose()
