"""What every chat model of the tests is: one that only answers to asynchronous calls."""

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult


class FakeModel(BaseChatModel):
    """Says by ``_astream`` or ``_agenerate`` what a test has it say."""

    @property
    def _llm_type(self) -> str:
        return type(self).__name__.lower()

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: object,
    ) -> ChatResult:
        raise NotImplementedError
