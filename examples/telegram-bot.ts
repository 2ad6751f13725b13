// A Telegram bot of your own that asks in the chat of each conversation: node examples/telegram-bot.ts
// COUNTERSIGN_TOKEN has the role front-end. The agents of the same principal set the label telegramChat on their calls.
import { createFrontEnd } from '@countersign/api-client';
import type { ApiSchemas, FrontEndPerson } from '@countersign/api-client';
import { Bot } from 'grammy';

const { env } = process;
const frontEnd = createFrontEnd({
  url: env['COUNTERSIGN_URL'] ?? 'http://127.0.0.1:7400',
  token: env['COUNTERSIGN_TOKEN'] ?? '',
});
const apiRoot = env['TELEGRAM_API_ROOT'] ?? 'https://api.telegram.org';
const bot = new Bot(env['TELEGRAM_BOT_TOKEN'] ?? '', { client: { apiRoot } });

/** Your users by their Telegram ids, and the chats in which your bot talks to them. */
const users = new Map([[4711, { id: 'kim', groups: ['support'] }]]);
const chats = new Set(['-1001']);
/** The cards that were sent, by chat and message. Keep them where they survive a restart. */
const sent = new Map<string, ApiSchemas['ApprovalCard']>();
/** What the list said of the approval when its card was last read, by chat and message. None: it is read again. */
const listed = new Map<string, string>();

type Keyboard = { readonly inline_keyboard: (typeof withdraw)[][] };
type Message = { readonly text: string } & NonNullable<Parameters<typeof bot.api.sendMessage>[2]>;

/** Takes back what the person who presses it answered here. It is the bot's own: a card has no press for it. */
const withdraw = { text: 'Withdraw my answer', callback_data: 'withdraw' };

/** The card as it is now. A front end reads without a person what its own agents asked for. */
async function read(approvalId: string) {
  const params = { path: { approvalId }, query: { format: 'telegram' as const } };
  const { data, error } = await frontEnd.api.GET('/v1/approvals/{approvalId}/card', { params });
  if (error !== undefined) throw new Error(error.detail);
  return { card: data, message: data.card as unknown as Message };
}

/** Shows the card as it is now in place of the older one. */
async function refresh(place: string, approvalId: string): Promise<void> {
  const { card, message } = await read(approvalId);
  const [chat = '', id] = place.split(':');
  const { entities = [], reply_markup: shown } = message as Message & { readonly reply_markup: Keyboard };
  // Whoever answered and is not the last one may think again.
  const reply_markup = {
    inline_keyboard: [...shown.inline_keyboard, ...(card.state === 'pending' ? [[withdraw]] : [])],
  };
  await bot.api.editMessageText(chat, Number(id), message.text, { entities, reply_markup }).catch((error: unknown) => {
    // Telegram refuses a change that changes nothing. After any other refusal the old card is on the screen: it is tried again.
    if (!String(error).includes('message is not modified')) throw error;
  });
  sent.set(place, card);
}

async function send(chat: string, approvalId: string, view: string): Promise<void> {
  const { card, message } = await read(approvalId);
  const { message_id: id } = await bot.api.sendMessage(chat, message.text, message);
  const place = `${chat}:${String(id)}`;
  sent.set(place, card);
  listed.set(place, view);
}

/** What waits for an answer, in all pages of the list. */
async function pending() {
  const all: ApiSchemas['Approval'][] = [];
  let cursor: string | undefined;
  do {
    const query = { state: 'pending' as const, ...(cursor !== undefined && { cursor }) };
    const { data, error } = await frontEnd.api.GET('/v1/approvals', { params: { query } });
    if (error !== undefined) throw new Error(error.detail);
    all.push(...data.approvals);
    cursor = data.nextCursor ?? undefined;
  } while (cursor !== undefined);
  return all;
}

/** A chat that the bot cannot write to, or a card that cannot be read, stops no other. */
const reported = (error: unknown): void => console.error(error);

/** Sends what is asked in a chat of ours, and shows what was answered, edited, told or withdrawn meanwhile, here or elsewhere. */
async function lookAround(): Promise<void> {
  const approvals = await pending();
  const now = new Map(approvals.map((approval) => [approval.approvalId, JSON.stringify(approval)]));
  for (const [place, { approvalId, state }] of sent) {
    const view = now.get(approvalId) ?? 'decided';
    if (state !== 'pending' || view === listed.get(place)) continue;
    await refresh(place, approvalId).then(() => listed.set(place, view), reported);
  }
  const asked = new Set([...sent.values()].map(({ approvalId }) => approvalId));
  for (const { approvalId, labels } of approvals) {
    const chat = labels['telegramChat'] ?? '';
    const view = now.get(approvalId) ?? '';
    if (chats.has(chat) && !asked.has(approvalId)) await send(chat, approvalId, view).catch(reported);
  }
}

/**
 * The bot gets a press once. While Countersign is away the response is sent again for some seconds, with the same key, so that it
 * counts once. Telegram takes no answer to a press that is older.
 */
async function patiently<T extends { readonly response: Response }>(send: () => Promise<T>): Promise<T> {
  const endsAt = Date.now() + 6_000;
  for (;;) {
    const sent = await send().catch((error: unknown) => reported(error));
    if (sent !== undefined && sent.response.status !== 429 && sent.response.status < 500) return sent;
    if (Date.now() > endsAt) throw new Error('Countersign does not answer');
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/** Passes a press on in the name of its person, and says what became of it. */
async function passOn(user: FrontEndPerson, card: ApiSchemas['ApprovalCard'], value: string, key: string) {
  const person = frontEnd.as(user);
  const { approvalId, presses, state } = card;
  const options = () => ({
    params: { path: { approvalId }, header: { 'Idempotency-Key': key } },
    signal: AbortSignal.timeout(3_000),
  });
  if (value === withdraw.callback_data) {
    const mine = '/v1/approvals/{approvalId}/responses/mine';
    return (await patiently(() => person.DELETE(mine, options()))).error?.detail ?? 'Withdrawn.';
  }
  const body = presses.find((press) => press.value === value)?.request;
  if (body === undefined)
    return state === 'pending' ? 'The card has changed: look again.' : `Nothing is left to answer: ${state}.`;
  const responses = '/v1/approvals/{approvalId}/responses';
  const { error } = await patiently(() => person.POST(responses, { ...options(), body }));
  const where = error?.code === 'already-voted' ? ` See "${withdraw.text}".` : '';
  return error === undefined ? 'Recorded.' : `${error.detail.slice(0, 160)}${where}`;
}

bot.on('callback_query:data', async (context) => {
  const place = `${String(context.chatId)}:${String(context.msgId)}`;
  const user = users.get(context.from.id);
  const card = sent.get(place);
  if (user === undefined || card === undefined) {
    await context.answerCallbackQuery('You cannot decide this here.');
    return;
  }
  const words = await passOn(
    user,
    card,
    context.callbackQuery.data,
    `telegram-${String(context.update.update_id)}`,
  ).catch((error: unknown) => {
    reported(error);
    return 'Perhaps not recorded: press again.';
  });
  // The next look reads the card again: one that changes messages in two places may write an older card over a newer one.
  listed.delete(place);
  await context.answerCallbackQuery(words.slice(0, 200));
});

// Without it a press that fails, such as while Countersign restarts, ends the bot. The context of the error has the token of the bot.
bot.catch(({ error }) => reported(error));
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit());
void bot.start();
for (;;) {
  await lookAround().catch(reported);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
}
