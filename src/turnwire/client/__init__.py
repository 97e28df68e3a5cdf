"""A client of turnwire's answer wire, sync and async: ``src/turnwire/client/README.md``.

A turn is iterated for typed events. A stream that breaks is taken up again where it broke, and no
event is told twice.
"""

from turnwire.client.asynchronous import AsyncClient as AsyncClient
from turnwire.client.asynchronous import AsyncTurn as AsyncTurn
from turnwire.client.connection import CodeAsked as CodeAsked
from turnwire.client.connection import Options as Options
from turnwire.client.connection import Session as Session
from turnwire.client.connection import Signed as Signed
from turnwire.client.endings import Broken as Broken
from turnwire.client.endings import Completed as Completed
from turnwire.client.endings import Ending as Ending
from turnwire.client.endings import Failed as Failed
from turnwire.client.endings import Paused as Paused
from turnwire.client.errors import BrokenStream as BrokenStream
from turnwire.client.errors import ClientError as ClientError
from turnwire.client.errors import Refused as Refused
from turnwire.client.errors import WrongUsage as WrongUsage
from turnwire.client.events import ActionCompletedFrame as ActionCompletedFrame
from turnwire.client.events import AnswerReplaced as AnswerReplaced
from turnwire.client.events import AuthRequired as AuthRequired
from turnwire.client.events import CitationFrame as CitationFrame
from turnwire.client.events import ConfirmationRequired as ConfirmationRequired
from turnwire.client.events import ErrorFrame as ErrorFrame
from turnwire.client.events import Event as Event
from turnwire.client.events import MessageCompleted as MessageCompleted
from turnwire.client.events import MessageStarted as MessageStarted
from turnwire.client.events import RetrievalCompletedFrame as RetrievalCompletedFrame
from turnwire.client.events import TokenDelta as TokenDelta
from turnwire.client.events import ToolCompletedFrame as ToolCompletedFrame
from turnwire.client.events import ToolStartedFrame as ToolStartedFrame
from turnwire.client.events import Unknown as Unknown
from turnwire.client.requests import Hints as Hints
from turnwire.client.retry import Retry as Retry
from turnwire.client.sync import Client as Client
from turnwire.client.sync import Turn as Turn
from turnwire.wires.answer_frames import OpenQuestion as OpenQuestion
