/** One message of an event stream. */
export interface SseMessage {
  /** The id to resume from; undefined until the stream has sent one. */
  readonly id: string | undefined;
  /** Undefined: only a new id. */
  readonly data: string | undefined;
}

/**
 * A parser of `text/event-stream` (WHATWG HTML, section 9.2). It accepts text in arbitrary chunks and returns the
 * complete messages. It reads `id` and `data`; comments, which keep a connection alive, are not messages.
 */
export function createSseParser(
  onComment: (comment: string) => void = () => undefined,
): (text: string) => readonly SseMessage[] {
  let rest = '';
  let id: string | undefined;
  let toldId: string | undefined;
  let data: string[] = [];

  const take = (line: string): SseMessage | undefined => {
    if (line === '') {
      const message = { id, data: data.length > 0 ? data.join('\n') : undefined };
      const isNews = message.data !== undefined || id !== toldId;
      [toldId, data] = [id, []];
      return isNews ? message : undefined;
    }
    const { field, value } = fieldOf(line);
    if (field === 'data') data.push(value);
    // An id with a NUL is to be ignored: it could not be sent back in a header.
    else if (field === 'id' && !value.includes('\0')) id = value;
    else if (field === '') onComment(value);
    return undefined;
  };
  return (text) => {
    const lines = (rest + text).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    return lines.map(take).filter((message) => message !== undefined);
  };
}

/** A line that begins with a colon is a comment: a field without a name. */
function fieldOf(line: string): { readonly field: string; readonly value: string } {
  const colon = line.indexOf(':');
  if (colon === -1) return { field: line, value: '' };
  return { field: line.slice(0, colon), value: line.slice(colon + 1).replace(/^ /, '') };
}
