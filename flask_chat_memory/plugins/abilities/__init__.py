"""What a plugin may be able to do besides the operations of every plugin."""

from .messages import ChangeLines as ChangeLines
from .messages import HidesMessages as HidesMessages
from .messages import MarksMessages as MarksMessages
from .messages import SearchesMessages as SearchesMessages
from .moving import MovesThreads as MovesThreads
from .moving import Reseals as Reseals
from .restoring import RestoresThreads as RestoresThreads
from .restoring import RestoresUsage as RestoresUsage
from .threads import DescribesThreads as DescribesThreads
from .threads import ListsThreads as ListsThreads
from .threads import PurgesThreads as PurgesThreads
from .turns import CurrentThread as CurrentThread
from .turns import KeepsLiveTurns as KeepsLiveTurns
from .usage import CountsUsage as CountsUsage
