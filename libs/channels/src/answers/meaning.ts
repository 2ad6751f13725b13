/**
 * What an answer of the other side is about.
 *
 * `done`: what was wanted is so already. `message`: this message; it is not sent again. `recipient`: this recipient of a
 * mail; the others get theirs. `channel`: the way is broken for every message. `address`: so is the chat that is written
 * to. `retry`: the same, and only a matter of time. `off`: no further message is wanted.
 */
export type Meaning = 'done' | 'message' | 'recipient' | 'address' | 'channel' | 'retry' | 'off';
