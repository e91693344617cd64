"""What keys do in the chat, beside prompt_toolkit's own (Emacs) bindings."""

from collections.abc import Callable
from typing import Any, Protocol

from prompt_toolkit.filters import Condition, has_selection, is_searching
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.key_binding.key_processor import KeyPressEvent
from prompt_toolkit.utils import suspend_to_background_supported


class Keys(Protocol):
    """What there is for keys to do. `shortcuts` are further keys, by their name in prompt_toolkit."""

    shortcuts: dict[str, Callable[[], None]]

    @property
    def text(self) -> str: ...

    def enter(self) -> None: ...

    def interrupted(self) -> None: ...

    def ended(self) -> None: ...

    def edit(self) -> None: ...


def bindings(keys: Keys) -> KeyBindings:
    """Enter sends, Alt-Enter makes a new line, Ctrl-X Ctrl-E opens the editor, Ctrl-C and Ctrl-D."""
    made = KeyBindings()
    empty = Condition(lambda: not keys.text)

    def on(*names: str, does: Callable[[], Any], **options: Any) -> None:
        def pressed(event: KeyPressEvent) -> None:
            del event
            does()

        made.add(*names, **options)(pressed)

    on("enter", does=keys.enter, filter=~is_searching)
    on("c-c", does=keys.interrupted, filter=~is_searching)
    on("<sigint>", does=keys.interrupted)
    on("c-d", does=keys.ended, filter=empty & ~is_searching)
    on("c-x", "c-e", does=keys.edit, filter=~has_selection)
    for name, does in keys.shortcuts.items():
        on(name, does=does)

    @made.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @made.add("c-z", filter=Condition(suspend_to_background_supported))
    def _(event: KeyPressEvent) -> None:
        event.app.suspend_to_background()

    return made
