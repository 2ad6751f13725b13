import { openVendorServer } from './vendor-server.js';
import type { VendorAnswer, VendorServer } from './vendor-server.js';

export interface TelegramCall {
  readonly method: string;
  readonly args: Readonly<Record<string, unknown>>;
}

export interface TelegramServer extends VendorServer {
  readonly calls: () => readonly TelegramCall[];
  /** The results of `getUpdates`. */
  readonly updates: { readonly update_id: number }[];
}

/** A local server with the Bot API's documented methods, as strict as the documentation. */
export async function openTelegramServer(botToken: string): Promise<TelegramServer> {
  let sent = 0;
  const updates: { readonly update_id: number }[] = [];
  const toCall = ({ path, body }: { path: string; body: string }): TelegramCall => ({
    method: path.replace(/^.*\//, ''),
    args: body === '' ? {} : (JSON.parse(body) as TelegramCall['args']),
  });
  const server = await openVendorServer((request): VendorAnswer => {
    if (!request.path.startsWith(`/bot${botToken}/`)) return no(401, 'Unauthorized');
    const { method, args } = toCall(request);
    if (method === 'getUpdates') {
      const offset = Number(args['offset'] ?? 0);
      return yes(updates.filter((update) => update.update_id >= offset));
    }
    if (method === 'getMe') return yes({ id: 1, is_bot: true, first_name: 'Bot', username: 'a_bot' });
    if (method === 'deleteWebhook') return yes(true);
    const problem = problemOf(method, args);
    if (problem !== undefined) return no(400, `Bad Request: ${problem}`);
    if (method === 'answerCallbackQuery') return yes(true);
    sent += 1;
    const chat = { id: Number(args['chat_id']), type: 'group', title: 'ops' };
    return yes({ message_id: Number(args['message_id'] ?? 100 + sent), date: 1, chat, text: args['text'] });
  });
  return { ...server, updates, calls: () => server.received.map(toCall) };
}

function yes(result: unknown): VendorAnswer {
  return { body: { ok: true, result } };
}

function no(code: number, description: string): VendorAnswer {
  return { status: code, body: { ok: false, error_code: code, description } };
}

interface Keyboard {
  readonly inline_keyboard: readonly (readonly { readonly callback_data: string; readonly text: string }[])[];
}

function problemOf(method: string, args: TelegramCall['args']): string | undefined {
  const { text } = args;
  switch (method) {
    case 'answerCallbackQuery':
      return typeof text === 'string' && text.length > 200 ? 'MESSAGE_TOO_LONG' : undefined;
    case 'editMessageReplyMarkup':
      return undefined;
    case 'sendMessage':
    case 'editMessageText':
      if (typeof text !== 'string' || text.length === 0 || text.length > 4096) return 'message is too long';
      if (args['parse_mode'] !== undefined) return "can't parse entities";
      return areButtons(args['reply_markup'] as Keyboard | undefined) && areEntities(args['entities'], text)
        ? undefined
        : 'BUTTON_DATA_INVALID';
    default:
      return 'method not found';
  }
}

function areButtons(keyboard: Keyboard | undefined): boolean {
  const buttons = keyboard?.inline_keyboard.flat() ?? [];
  return buttons.every(({ callback_data: data }) => Buffer.byteLength(data) >= 1 && Buffer.byteLength(data) <= 64);
}

function areEntities(entities: unknown, text: string): boolean {
  const list = (entities ?? []) as readonly { readonly offset: number; readonly length: number }[];
  return list.every(({ offset, length }) => length > 0 && offset >= 0 && offset + length <= text.length);
}
