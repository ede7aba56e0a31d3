"""What a request that does not chat costs with the extension, against the same request without it.

Run it as ``python -m tests.benchmarks.idle_request``. The app is called as a server calls it, by WSGI, without the
cost of a test client. A second app without the extension shows how much of a ratio is noise. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import collections.abc as cabc
import pathlib
import random
import sys
import tempfile
import time
import typing as t

import flask
import flask_login
import jinja2
from werkzeug.test import create_environ

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

from flask_chat_memory import ChatMemory
from tests.benchmarks.report import environment
from tests.benchmarks.report import median
from tests.benchmarks.report import milliseconds
from tests.benchmarks.report import ratio
from tests.benchmarks.report import Rounds
from tests.benchmarks.report import table
from tests.benchmarks.report import target
from tests.benchmarks.report import TARGET_HEADER

REQUESTS = 50
PAGE = """<!doctype html>
<title>{{ title }}</title>
<h1>{{ title }}</h1>
<ul>{% for name, price in goods %}<li><a href="{{ url_for('page') }}">{{ name }}</a> {{ price }}</li>{% endfor %}</ul>
"""
GOODS = [(f"Thing {number}", number * 3) for number in range(10)]

WITHOUT, AGAIN, WITH = "without the extension", "without the extension, again", "with the extension"


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure what a request costs that does not chat.")
    parser.add_argument("--quick", action="store_true", help="show that it works; the figures mean nothing")
    parser.add_argument("--rounds", type=int, default=200)
    arguments = parser.parse_args()
    rounds = 3 if arguments.quick else arguments.rounds
    with tempfile.TemporaryDirectory() as folder:
        apps = {WITHOUT: make_app(folder), AGAIN: make_app(folder), WITH: make_app(folder)}
        apps[WITH].config["CHAT_MEMORY_PLUGIN"] = "sqlalchemy"
        memory = ChatMemory(apps[WITH])
        memory.provider(lambda turn: turn.text)
        results = measure(apps, rounds)
    print(f"{environment()} {rounds} rounds of {REQUESTS} requests.\n")
    rows = [
        [name, milliseconds(median(samples)), f"{ratio(samples, results[WITHOUT]):.3f}x"]
        for name, samples in results.items()
    ]
    print(table(["request for a small page", "median in ms", "ratio"], rows))
    print(table(TARGET_HEADER, [target(WITH, ratio(results[WITH], results[WITHOUT]), 1.05)]))


def make_app(folder: str) -> flask.Flask:
    """Make a site with Flask-Login and a signed session that each request reads."""
    app = flask.Flask("site", instance_path=folder)
    app.config["SECRET_KEY"] = "benchmark"
    flask_login.LoginManager(app).user_loader(lambda _id: None)
    app.jinja_loader = jinja2.DictLoader({"page.html": PAGE})

    @app.get("/")
    def page() -> str:
        return flask.render_template("page.html", title=flask.session.get("title", "Goods"), goods=GOODS)

    return app


def measure(apps: cabc.Mapping[str, flask.Flask], rounds: int) -> dict[str, Rounds]:
    results: dict[str, Rounds] = {name: [] for name in apps}
    for app in apps.values():
        request(app)
    for _ in range(rounds):
        samples: dict[str, list[float]] = {name: [] for name in apps}
        for _ in range(REQUESTS):
            for name in random.sample(sorted(apps), len(apps)):
                samples[name].append(request(apps[name]))
        for name, times in samples.items():
            results[name].append(times)
    return results


def request(app: flask.Flask) -> float:
    """Return the seconds that a request takes."""
    answered = []

    def start_response(status: str, headers: object, exc_info: object = None) -> t.Any:
        answered.append(status)

    environ = create_environ("/")
    start = time.perf_counter()
    body = app.wsgi_app(environ, start_response)
    length = sum(map(len, body))
    seconds = time.perf_counter() - start
    assert answered == ["200 OK"] and length > 0
    return seconds


if __name__ == "__main__":
    main()
