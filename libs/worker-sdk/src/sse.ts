/** One message of an event stream. */
export interface SseMessage {
  readonly id: string | undefined;
  readonly data: string;
}

/** Turns the text of an event stream, in pieces of any size, into its messages. */
export interface SseParser {
  readonly push: (text: string) => readonly SseMessage[];
}

/** A parser of `text/event-stream` (WHATWG HTML, section 9.2): `id` and `data`; comments and other fields are skipped. */
export function createSseParser(): SseParser {
  let rest = '';
  let id: string | undefined;
  let data: string[] = [];

  const take = (line: string): SseMessage | undefined => {
    if (line === '') {
      const message = data.length > 0 ? { id, data: data.join('\n') } : undefined;
      data = [];
      return message;
    }
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'data') data.push(value);
    // An id with a NUL is to be ignored: it could not be sent back in a header.
    else if (field === 'id' && !value.includes('\0')) id = value;
    return undefined;
  };
  return {
    push: (text) => {
      const lines = (rest + text).split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop() ?? '';
      return lines.map(take).filter((message) => message !== undefined);
    },
  };
}
