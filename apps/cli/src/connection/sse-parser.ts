/** One message of a server-sent event stream. */
export interface SseMessage {
  readonly id: string;
  /** Undefined: nothing but a new place to come back to. */
  readonly data: string | undefined;
}

/**
 * A parser of `text/event-stream`: takes the text as it comes, in pieces cut anywhere, and gives back the messages that
 * are complete. Comments, which keep the connection alive, are no messages.
 */
export function createSseParser(): (chunk: string) => SseMessage[] {
  let rest = '';
  let lastId = '';
  return (chunk) => {
    const blocks = (rest + chunk).replaceAll('\r\n', '\n').split('\n\n');
    rest = blocks.pop() ?? '';
    return blocks.flatMap((block) => {
      const message = parseBlock(block, lastId);
      const isNews = message.data !== undefined || message.id !== lastId;
      lastId = message.id;
      return isNews ? [message] : [];
    });
  };
}

function parseBlock(block: string, lastId: string): SseMessage {
  let id = lastId;
  const data: string[] = [];
  for (const line of block.split('\n')) {
    const [, field = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === 'id') id = value;
    else if (field === 'data') data.push(value);
  }
  return { id, data: data.length === 0 ? undefined : data.join('\n') };
}
