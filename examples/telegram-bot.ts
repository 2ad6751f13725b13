// A Telegram bot of your own that asks in the chat of each conversation: node examples/telegram-bot.ts
// COUNTERSIGN_TOKEN has the role front-end. The agents of the same principal set the label telegramChat on their calls.
import { createFrontEnd } from '@countersign/api-client';
import type { ApiSchemas } from '@countersign/api-client';
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

type Message = { readonly text: string } & NonNullable<Parameters<typeof bot.api.sendMessage>[2]>;

/** The card as it is now. A front end reads without a person what its own agents asked for. */
async function read(approvalId: string) {
  const params = { path: { approvalId }, query: { format: 'telegram' as const } };
  const { data, error } = await frontEnd.api.GET('/v1/approvals/{approvalId}/card', { params });
  if (error !== undefined) throw new Error(error.detail);
  return { card: data, message: data.card as unknown as Message };
}

async function refresh(place: string, approvalId: string): Promise<void> {
  const { card, message } = await read(approvalId);
  const [chat = '', id] = place.split(':');
  const { entities, reply_markup } = message as Message & { readonly reply_markup: { inline_keyboard: [] } };
  await bot.api
    .editMessageText(chat, Number(id), message.text, { entities: entities ?? [], reply_markup })
    .catch((error: unknown) => {
      // Telegram refuses a change that changes nothing. After any other refusal the old card is on the screen: it is tried again.
      if (!String(error).includes('message is not modified')) throw error;
    });
  sent.set(place, card);
}

async function send(chat: string, approvalId: string): Promise<void> {
  const { card, message } = await read(approvalId);
  const { message_id: id } = await bot.api.sendMessage(chat, message.text, message);
  sent.set(`${chat}:${String(id)}`, card);
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

/** Sends what is asked in a chat of ours, and changes what was decided elsewhere. */
async function lookAround(): Promise<void> {
  const approvals = await pending();
  const waits = new Set(approvals.map(({ approvalId }) => approvalId));
  for (const [place, { approvalId, state }] of sent)
    if (state === 'pending' && !waits.has(approvalId)) await refresh(place, approvalId).catch(reported);
  const asked = new Set([...sent.values()].map(({ approvalId }) => approvalId));
  for (const { approvalId, labels } of approvals) {
    const chat = labels['telegramChat'] ?? '';
    if (chats.has(chat) && !asked.has(approvalId)) await send(chat, approvalId).catch(reported);
  }
}

bot.on('callback_query:data', async (context) => {
  const place = `${String(context.chatId)}:${String(context.msgId)}`;
  const user = users.get(context.from.id);
  const card = sent.get(place);
  const press = card?.presses.find(({ value }) => value === context.callbackQuery.data);
  if (user === undefined || card === undefined || press === undefined) {
    await context.answerCallbackQuery('You cannot decide this here.');
    return;
  }
  const { approvalId } = card;
  const answered = await frontEnd.as(user).POST('/v1/approvals/{approvalId}/responses', {
    // Telegram delivers an update again until the next request confirms it.
    params: { path: { approvalId }, header: { 'Idempotency-Key': `telegram-${String(context.update.update_id)}` } },
    body: press.request,
  });
  await context.answerCallbackQuery(answered.error?.detail.slice(0, 200) ?? 'Recorded.');
  await refresh(place, approvalId);
});

// Without it a press that fails, such as while Countersign restarts, ends the bot. The context of the error has the token of the bot.
bot.catch(({ error }) => reported(error));
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit());
void bot.start();
for (;;) {
  await lookAround().catch(reported);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
}
