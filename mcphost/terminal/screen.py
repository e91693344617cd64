"""The chat's terminal: an input line that is always there, and above it what is live; all else scrolls up.

What is printed is written once, above the live lines, and never touched again. Live lines and input are
redrawn in place by prompt_toolkit.
"""

import os
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager, contextmanager
from typing import TextIO, cast

import anyio
import anyio.to_thread
from prompt_toolkit.application import Application
from prompt_toolkit.application.run_in_terminal import in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer
from prompt_toolkit.data_structures import Size
from prompt_toolkit.document import Document
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import History
from prompt_toolkit.layout import (
    BufferControl,
    CompletionsMenu,
    Dimension,
    FormattedTextControl,
    HSplit,
    Layout,
    VerticalAlign,
    Window,
)
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.styles import Style
from prompt_toolkit.widgets import SearchToolbar

from mcphost.terminal import programs
from mcphost.terminal.ask import Ended
from mcphost.terminal.cells import Line, ansi, cut, plain, width, wrapped
from mcphost.terminal.held import Held
from mcphost.terminal.keys import Keys, bindings
from mcphost.terminal.output import colourful

_PROMPT = "> "
_STYLE = Style.from_dict(
    {
        "prompt": "ansicyan bold",
        "status": "dim",
        "completion-menu": "noreverse",
        "completion-menu.completion": "noinherit",
        "completion-menu.completion.current": "noinherit reverse",
        "completion-menu.meta.completion": "noinherit dim",
        "completion-menu.meta.completion.current": "noinherit dim",
        "scrollbar.background": "noinherit",
        "scrollbar.button": "noinherit reverse",
    }
)
_REDRAW_SECONDS = 0.03


class Screen(Keys):
    """The terminal of one chat.

    `live` gives the live lines for so many columns and at most so many rows, `status` the line at the
    bottom. `submit` gets each line that is typed, but for answers to questions. `interrupt` is called for
    Ctrl-C where nothing is typed, `leave` for Ctrl-D, `touched` when what is typed changes. `alone` is held
    while another program has the terminal, `shortcuts` are what further keys do.
    """

    def __init__(
        self,
        *,
        live: Callable[[int, int], list[Line]],
        status: Callable[[], str],
        submit: Callable[[str], None],
        interrupt: Callable[[], None],
        leave: Callable[[], None],
        touched: Callable[[], None],
        alone: Callable[[], AbstractContextManager[None]],
        shortcuts: dict[str, Callable[[], None]],
        history: History,
    ) -> None:
        self._stream = Held(sys.stdout)
        self._live, self._status = live, status
        self._submit, self._interrupt, self._leave = submit, interrupt, leave
        self._alone = alone
        self.shortcuts = shortcuts
        self._question: _Question | None = None
        self._one_question = anyio.Lock()
        self._drawn: list[Line] = []
        self._away = False
        self._waiting: list[str] = []
        self._buffer = Buffer(
            history=history,
            multiline=True,
            complete_while_typing=Condition(self._completes),
            enable_history_search=False,
        )
        self._app: Application[None] = self._application()
        self._touched = touched
        self._buffer.on_text_changed += self._changed
        self._app.before_render += self._draw
        self._app.after_render += self._shown

    # what is shown

    def print(self, lines: Iterable[Line]) -> None:
        """Lines, above all that is live."""
        self.write("".join(f"{ansi(line) if self.coloured else plain(line)}\n" for line in lines))

    def write(self, text: str) -> None:
        """Text that ends in a newline and may hold our own escapes, above all that is live."""
        if self._away:
            self._waiting.append(text)
        elif text:
            with self._above():
                self._stream.write(text.replace("\n", "\r\n"))

    def send(self, escapes: str) -> None:
        """A control sequence that shows nothing."""
        self._stream.write(escapes)
        self._stream.flush()

    def refresh(self) -> None:
        """Draw anew what is live."""
        self._app.invalidate()

    @property
    def coloured(self) -> bool:
        return colourful(sys.__stdout__ or sys.stdout)

    @property
    def size(self) -> Size:
        return self._stream.size()

    @contextmanager
    def _above(self) -> Generator[None]:
        if self._app.is_running:
            self._stream.hold()
            self._app.renderer.erase(leave_alternate_screen=False)
        yield
        if self._app.is_running:
            self._app.invalidate()
        else:
            self._stream.release()

    # what is typed

    async def run(self) -> None:
        """Show the input line until `close`. Raises `Ended` when the terminal is gone."""
        try:
            await self._app.run_async(handle_sigint=False, set_exception_handler=False)
        except EOFError:
            raise Ended from None
        finally:
            self._stream.release()

    def close(self) -> None:
        if self._app.is_running and not self._app.is_done:
            self._app.exit()

    async def line(self, prompt: str) -> str:
        """Ask a question: the line that answers it. What was being typed comes back afterwards."""
        async with self._one_question:
            question = self._question = _Question(prompt, self._buffer.document)
            self._buffer.reset()
            self.refresh()
            try:
                await question.answered.wait()
            finally:
                self._answer(None)
        if question.answer is None:
            raise Ended
        return question.answer

    @property
    def completer(self) -> Completer:
        """What completes what is typed."""
        return self._buffer.completer

    @completer.setter
    def completer(self, completer: Completer) -> None:
        self._buffer.completer = completer

    @property
    def text(self) -> str:
        return self._buffer.text

    @text.setter
    def text(self, text: str) -> None:
        self._buffer.reset(Document(text, len(text)))
        self.refresh()

    def enter(self) -> None:
        text = self._buffer.text
        if self._question is not None:
            self._buffer.reset()
            self.write(f"{self._question.prompt}{text}\n")
            self._answer(text)
            return
        if text.strip():
            self._buffer.append_to_history()
            self._buffer.reset()
            self._submit(text)

    def _changed(self, buffer: Buffer) -> None:
        del buffer
        self._touched()

    def interrupted(self) -> None:
        if self._question is None and self._buffer.text:
            self._buffer.reset()
        else:
            self._interrupt()

    def ended(self) -> None:
        if not self.dismiss():
            self._leave()

    def dismiss(self) -> bool:
        """Leave the open question without an answer; whether there was one."""
        asking = self._question is not None
        self._answer(None)
        return asking

    def edit(self) -> None:
        """Edit what is typed in the user's editor."""
        self._app.create_background_task(self._edited())

    async def _edited(self) -> None:
        text = await programs.edited(self._buffer.text, self.alone)
        if text is not None:
            self.text = text

    def _answer(self, text: str | None) -> None:
        """The open question, if there is one, is over; what comes next is no answer to it."""
        question, self._question = self._question, None
        if question is not None:
            question.answer = text
            question.answered.set()
            self._buffer.reset(question.draft)
            self.refresh()

    def _completes(self) -> bool:
        """Whether what can be typed here is shown without being asked for."""
        word = self._buffer.document.text_before_cursor
        return self._question is None and (word.startswith("/") or "@" in word)

    # other programs on the terminal

    async def alone(self, work: Callable[[], int]) -> int:
        """Let something else have the terminal. What is printed meanwhile waits."""
        async with in_terminal():
            self._away = True
            self._stream.release()
            try:
                with self._alone():
                    return await anyio.to_thread.run_sync(work)
            finally:
                self._away = False
                waiting, self._waiting = self._waiting, []
                self._stream.write("".join(waiting).replace("\n", "\r\n"))
                self._stream.release()

    # the layout

    def _application(self) -> Application[None]:
        search = SearchToolbar()
        typed = Window(
            BufferControl(self._buffer, search_buffer_control=search.control, preview_search=True),
            height=lambda: Dimension(min=1, max=max(self.size.rows // 3, 1)),
            wrap_lines=True,
            dont_extend_height=True,
            get_line_prefix=self._prefix,
        )
        rows = [
            Window(FormattedTextControl(self._live_text), dont_extend_height=True, height=self._live_height),
            typed,
            search,
            CompletionsMenu(max_height=8, scroll_offset=1),
            Window(FormattedTextControl(self._status_text), height=1, style="class:status"),
        ]
        return Application(
            Layout(HSplit(rows, align=VerticalAlign.TOP), focused_element=typed),
            key_bindings=bindings(self),
            style=_STYLE,
            color_depth=ColorDepth.DEPTH_4_BIT if self.coloured else ColorDepth.MONOCHROME,
            output=Vt100_Output(
                cast("TextIO", self._stream), self._stream.size, term=os.environ.get("TERM"), enable_cpr=False
            ),
            erase_when_done=True,
            min_redraw_interval=_REDRAW_SECONDS,
        )

    def _live_lines(self) -> list[Line]:
        columns, rows = self.size.columns, self.size.rows
        lines = self._live(columns, max(rows // 2, 3))
        if self._question is not None and self._is_long(self._question.prompt):
            lines += wrapped([("", self._question.prompt)], columns)
        return [cut(line, columns) for line in lines]

    def _live_text(self) -> StyleAndTextTuples:
        text: StyleAndTextTuples = []
        for number, line in enumerate(self._drawn):
            text += [("", "\n")] if number else []
            text += line
        return text

    def _live_height(self) -> Dimension:
        return Dimension.exact(len(self._drawn))

    def _shown(self, app: Application[None]) -> None:
        del app
        self._stream.release()

    def _draw(self, app: Application[None]) -> None:
        """What is live, once for each time that it is drawn."""
        del app
        self._drawn = self._live_lines()

    def _prefix(self, number: int, wrapped: int) -> StyleAndTextTuples:
        prompt = _PROMPT
        if self._question is not None:
            prompt = "? " if self._is_long(self._question.prompt) else self._question.prompt
        return [("class:prompt", prompt if number == wrapped == 0 else " " * width(prompt))]

    def _is_long(self, prompt: str) -> bool:
        return width(prompt) > self.size.columns // 2

    def _status_text(self) -> StyleAndTextTuples:
        return list(cut([("", self._status())], self.size.columns - 1))


class _Question:
    def __init__(self, prompt: str, draft: Document) -> None:
        self.prompt = prompt
        self.draft = draft
        self.answered = anyio.Event()
        self.answer: str | None = None
