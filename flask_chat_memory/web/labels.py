"""The texts of the widget, in English; a site replaces any of them."""

LABELS: dict[str, str] = {
    # Names of regions, fields and buttons
    "log": "Conversation",
    "input": "Your message",
    "placeholder": "Write a message…",
    "send": "Send",
    "stop": "Stop",
    "reset": "Clear chat",
    "new_chat": "New chat",
    "earlier": "Show earlier messages",
    # The list of conversations
    "threads": "Conversations",
    "more_threads": "Show more",
    "untitled": "Untitled",
    "rename": "Rename",
    "thread_title": "Title",
    "save": "Save",
    "cancel": "Cancel",
    "delete": "Delete",
    "confirm_delete": "Delete this conversation?",
    "renamed": "The conversation has a new title.",
    "deleted": "The conversation is deleted.",
    "search": "Search",
    "found": "Found",
    "nothing_found": "Nothing found",
    "maybe_more": "There may be more.",
    # Tools below a message
    "regenerate": "Regenerate",
    "edit": "Edit",
    "edited_text": "Edit your message",
    "versions": "Versions",
    "older_version": "Previous version",
    "newer_version": "Next version",
    "good": "Good answer",
    "bad": "Bad answer",
    "rated": "Your rating is kept.",
    "unrated": "Your rating is taken back.",
    # A temporary conversation
    "temporary": "Temporary",
    "temporary_begun": "Nothing of this conversation is kept. It is gone when you leave or reload the page.",
    "temporary_left": "The temporary conversation is gone. Nothing of it was kept.",
    # Who speaks
    "user": "You",
    "ai": "Assistant",
    # Notes below a message
    "partial": "Answer was cut off",
    "failed": "Answer was cut off",
    "stopped": "Stopped",
    "no_answer": "No answer",
    "pending": "Being answered…",
    "not_sent": "Not sent",
    "not_stored": "Not saved: this exchange will be gone after a reload.",
    # Announced to screen readers
    "answering": "The assistant is writing…",
    "answered": "Answer complete",
    "cleared": "The conversation is empty now.",
    # Notices and errors
    "unavailable": "Your earlier messages cannot be shown right now.",
    "no_script": "Please switch on JavaScript to write a message.",
    "network": "The connection was lost. Please try again.",
    "error": "Something went wrong. Please try again, or reload the page.",
}
"""Default of every visible or announced text, by the key under which a site overrides it."""
