"""The contract of memory plugins as pytest classes; needs pytest.

The test module of a plugin has a fixture ``make_plugin`` and a class that lists what the plugin supports::

    class TestMyPlugin(PluginContract, ExpiryContract, MaxMessagesContract, ThreadsContract):
        @pytest.fixture
        def make_plugin(self, tmp_path):
            return lambda **options: MyPlugin({"folder": str(tmp_path), **options})

``make_plugin`` takes the options of the plugin and opens the same store each time that it is called within a test. A
storage of documents has the fixture ``make_storage`` and the classes whose names tell of storages.
"""

from . import assertions as assertions
from .counting import CountsUsageContract as CountsUsageContract
from .current import CurrentThreadContract as CurrentThreadContract
from .describing import DescribesThreadsContract as DescribesThreadsContract
from .expiry import ExpiryContract as ExpiryContract
from .failures import CorruptionContract as CorruptionContract
from .failures import FailingStoreContract as FailingStoreContract
from .forks import ForkContract as ForkContract
from .hiding import HidesMessagesContract as HidesMessagesContract
from .listing import ListsThreadsContract as ListsThreadsContract
from .live import LiveTurnsContract as LiveTurnsContract
from .load import LoadContract as LoadContract
from .marking import MarksMessagesContract as MarksMessagesContract
from .moving import MovesThreadsContract as MovesThreadsContract
from .persistence import PersistenceContract as PersistenceContract
from .plugin import PluginContract as PluginContract
from .processes import ProcessContract as ProcessContract
from .purging import PurgesThreadsContract as PurgesThreadsContract
from .restoring import RestoresThreadsContract as RestoresThreadsContract
from .retention import LastingNumbersContract as LastingNumbersContract
from .retention import MaxMessagesContract as MaxMessagesContract
from .retention import MaxThreadsContract as MaxThreadsContract
from .searching import SearchesMessagesContract as SearchesMessagesContract
from .storage import StorageContract as StorageContract
from .stores import FailingStorageContract as FailingStorageContract
from .stores import StorageCorruptionContract as StorageCorruptionContract
from .stores import StorageForkContract as StorageForkContract
from .stores import StoragePersistenceContract as StoragePersistenceContract
from .stores import StorageProcessContract as StorageProcessContract
from .threads import ThreadsContract as ThreadsContract
