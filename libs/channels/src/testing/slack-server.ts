import { createSlackSockets } from './slack-sockets.js';
import type { SlackSockets } from './slack-sockets.js';
import { openVendorServer } from './vendor-server.js';
import type { Received, VendorAnswer, VendorServer } from './vendor-server.js';

/** A call of Slack's Web API, its arguments read. */
export interface SlackCall {
  readonly method: string;
  readonly args: Readonly<Record<string, unknown>>;
}

export interface SlackServer extends VendorServer {
  /** The calls of methods that concern messages, the oldest first. */
  readonly calls: () => readonly SlackCall[];
  readonly sockets: SlackSockets;
}

/** A local server with Slack's documented methods, as strict as the documentation: it refuses what Slack would refuse. */
export async function openSlackServer(botToken: string, appToken = 'xapp-canary-app-token'): Promise<SlackServer> {
  let sent = 0;
  const sockets = createSlackSockets(appToken);
  const server = await openVendorServer((request): VendorAnswer => {
    if (isOpening(request)) return sockets.open(request, server.url);
    if (request.headers.authorization !== `Bearer ${botToken}`) return { body: { ok: false, error: 'invalid_auth' } };
    const { method, args } = toCall(request);
    const problem = problemOf(method, args);
    if (problem !== undefined) return { body: { ok: false, error: problem } };
    if (method === 'views.open') return { body: { ok: true, view: { id: 'V1' } } };
    sent += 1;
    const ts = typeof args['ts'] === 'string' ? args['ts'] : `1700000000.${String(sent).padStart(6, '0')}`;
    return { body: { ok: true, channel: args['channel'], ts } };
  }, sockets.upgrade);
  return {
    ...server,
    sockets,
    calls: () => server.received.filter((request) => !isOpening(request)).map(toCall),
    close: async () => {
      await sockets.close();
      await server.close();
    },
  };
}

function isOpening({ path }: Received): boolean {
  return path.endsWith('/apps.connections.open');
}

function toCall({ path, body, headers }: Received): SlackCall {
  const method = path.replace(/^.*\//, '');
  if (headers['content-type']?.startsWith('application/json') === true) {
    return { method, args: JSON.parse(body) as SlackCall['args'] };
  }
  const fields = [...new URLSearchParams(body)].map(([key, value]) => {
    const isJson = key === 'blocks' || key === 'view';
    return [key, isJson ? (JSON.parse(value) as unknown) : value] as const;
  });
  return { method, args: Object.fromEntries(fields) };
}

const known = new Set(['chat.postEphemeral', 'chat.postMessage', 'chat.update', 'views.open']);

function problemOf(method: string, args: SlackCall['args']): string | undefined {
  if (!known.has(method)) return 'unknown_method';
  if (method === 'views.open')
    return typeof args['trigger_id'] === 'string' && isView(args['view']) ? undefined : 'invalid_arguments';
  if (typeof args['channel'] !== 'string') return 'channel_not_found';
  if (method === 'chat.postEphemeral' && !(isFilled(args['user']) && isFilled(args['text'])))
    return 'user_not_in_channel';
  if (method === 'chat.postEphemeral') return undefined;
  if (method === 'chat.update' && typeof args['ts'] !== 'string') return 'message_not_found';
  return areBlocks(args['blocks'], 50) ? undefined : 'invalid_blocks';
}

function isFilled(text: unknown): boolean {
  return typeof text === 'string' && text !== '';
}

interface Text {
  readonly type: 'plain_text' | 'mrkdwn';
  readonly text: string;
}

function isView(view: unknown): boolean {
  const { type, title, blocks } = view as { type?: unknown; title?: Text; blocks?: unknown };
  return type === 'modal' && isText(title, 24) && areBlocks(blocks, 100);
}

function areBlocks(blocks: unknown, most: number): boolean {
  return Array.isArray(blocks) && blocks.length > 0 && blocks.length <= most && blocks.every(isBlock);
}

function isText(text: Text | undefined, most: number): boolean {
  return text !== undefined && text.text.length > 0 && text.text.length <= most;
}

/** The limits of Slack's block reference. */
function isBlock(block: {
  type: string;
  text?: Text;
  elements?: { type: string; action_id: string; value?: string; text?: Text }[];
}): boolean {
  switch (block.type) {
    case 'header':
      return block.text?.type === 'plain_text' && isText(block.text, 150);
    case 'section':
      return isText(block.text, 3000);
    case 'actions':
      return (
        (block.elements ?? []).length <= 25 &&
        (block.elements ?? []).every(
          ({ type, value, text, action_id: id }) =>
            type === 'button' && id.length <= 255 && (value ?? '').length <= 2000 && isText(text, 75),
        )
      );
    case 'input':
      return true;
    default:
      return false;
  }
}
