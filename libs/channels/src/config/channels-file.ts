import {
  groupSchema,
  globProblem,
  identitySchemas,
  notificationKinds,
  parseDurationMs,
  principalSchema,
  riskSchema,
} from '@countersign/contracts';
import { z } from 'zod';
import { digestSchema } from './digest-schema.js';

export const secretRefSchema = z.union(
  [z.strictObject({ env: z.string().min(1) }), z.strictObject({ file: z.string().min(1) })],
  { error: 'must be { env: NAME } or { file: PATH }: a secret is never written in place' },
);
/** Where a secret is stored. */
export type SecretRef = z.infer<typeof secretRefSchema>;

const httpUrlSchema = z
  .string()
  .refine((url) => /^https?:$/.test(URL.parse(url)?.protocol ?? ''), {
    error: 'must be an http or https url',
    abort: true,
  })
  .refine((url) => !/^[^/]*\/\/[^/?#]*@/.test(url), { error: 'must carry no credentials' });

/** The built-in channels. No configured channel may have one of these ids. */
const builtIn = ['inbox', 'cli', 'api', 'mcp'];

const channelIdSchema = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/, 'must be 1 to 64 letters, digits, - and _')
  .refine((id) => !builtIn.includes(id.toLowerCase()), { error: 'is the name of a built-in channel' });

const durationSchema = z.string().transform((text, context): number => {
  const durationMs = parseDurationMs(text);
  if (durationMs !== undefined) return durationMs;
  context.addIssue({ code: 'custom', message: `"${text}" is not a duration: write 30s, 10m, 2h or 3d` });
  return z.NEVER;
});

const labelNameSchema = z.string().min(1).max(128);

/** A place, or one of those that the operator lists, as a label of the call says. */
function placeSchema(place: z.ZodType<string, string>, words: string, listed = place) {
  const labelled = z.strictObject({ label: labelNameSchema, allow: z.array(listed).min(1).max(1_000) });
  return z.union([place, labelled], { error: `must be ${words}, or { label, allow: [such ids] }` });
}

const slackPlace = z.string().regex(/^[A-Z0-9]{2,32}$/);
const telegramChat = z.string().regex(/^(-?\d{1,20}|@[A-Za-z0-9_]{4,64})$/);
/** Telegram reports a press with the number of the chat, and a name can pass to another chat. */
const telegramChatId = z.string().regex(/^-?\d{1,20}$/);

const conversationWords = 'the id of a conversation in Teams, such as 19:…@thread.tacv2';
/** A channel, a group chat or a meeting (`19:…@thread.tacv2`), or the chat of one person with the bot (`a:…`). */
const teamsConversation = z.string().regex(/^(19|a):[A-Za-z0-9_.@-]{1,300}$/, `must be ${conversationWords}`);
const guidSchema = z.string().regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'must be a GUID in lower case');

const slackSchema = z
  .strictObject({
    id: channelIdSchema,
    type: z.literal('slack'),
    mode: z.enum(['http', 'socket']).default('http'),
    channel: placeSchema(slackPlace, 'the id of a Slack channel, such as C0123'),
    /** The label that names the thread of a call: the `ts` of its first message. */
    thread: z.strictObject({ label: labelNameSchema }).optional(),
    botToken: secretRefSchema,
    signingSecret: secretRefSchema.optional(),
    appToken: secretRefSchema.optional(),
    apiUrl: httpUrlSchema.default('https://slack.com/api'),
  })
  .superRefine((channel, context) => {
    const needed = channel.mode === 'socket' ? 'appToken' : 'signingSecret';
    if (channel[needed] === undefined) {
      context.addIssue({ code: 'custom', path: [needed], message: `is needed with mode: ${channel.mode}` });
    }
  });

const telegramSchema = z
  .strictObject({
    id: channelIdSchema,
    type: z.literal('telegram'),
    mode: z.enum(['webhook', 'polling']).default('webhook'),
    chat: placeSchema(telegramChat, 'the id of a chat, in quotes, or its @name', telegramChatId),
    botToken: secretRefSchema,
    webhookSecret: secretRefSchema.optional(),
    apiUrl: httpUrlSchema.default('https://api.telegram.org'),
  })
  .superRefine((channel, context) => {
    if (channel.mode === 'webhook' && channel.webhookSecret === undefined) {
      context.addIssue({ code: 'custom', path: ['webhookSecret'], message: 'is needed with mode: webhook' });
    }
  });

const teamsSchema = z.strictObject({
  id: channelIdSchema,
  type: z.literal('teams'),
  /** The tenant of Microsoft Entra whose people answer, and whose bot this is. */
  tenant: guidSchema,
  appId: guidSchema,
  clientSecret: secretRefSchema,
  conversation: placeSchema(teamsConversation, conversationWords),
  /** Where messages are sent: no address that a request names gets the bot's token. */
  serviceUrl: httpUrlSchema.default('https://smba.trafficmanager.net/teams'),
  loginUrl: httpUrlSchema.default('https://login.microsoftonline.com'),
  /** Where the keys of incoming requests are published. */
  openIdUrl: httpUrlSchema.default('https://login.botframework.com/v1/.well-known/openidconfiguration'),
});

const emailSchema = z.strictObject({
  id: channelIdSchema,
  type: z.literal('email'),
  smtp: secretRefSchema,
  from: z
    .string()
    .regex(/^[^\p{Cc}]*[^\s<>@]+@[^\s<>@]+>?$/u, 'must be an address, or a name and <address>')
    .max(320),
  /** The one mailbox of a call, of a person of the file. Absent: each person who may decide gets a mail. */
  to: z.strictObject({ label: labelNameSchema, allow: z.array(z.email().max(320)).min(1).max(1_000) }).optional(),
});

const webhookSchema = z
  .strictObject({
    id: channelIdSchema,
    type: z.literal('webhook'),
    url: httpUrlSchema,
    secret: secretRefSchema,
    allowPrivateNetwork: z.boolean().default(false),
  })
  .superRefine(({ url, allowPrivateNetwork }, context) => {
    if (!allowPrivateNetwork && URL.parse(url)?.protocol === 'http:') {
      context.addIssue({
        code: 'custom',
        path: ['url'],
        message: 'must be https; http needs allowPrivateNetwork: true',
      });
    }
  });

const channelSchemas = [slackSchema, telegramSchema, teamsSchema, emailSchema, webhookSchema] as const;
/** One entry of `channels`. */
export const channelSchema = z.discriminatedUnion('type', channelSchemas, {
  error: 'must have a type: slack, telegram, teams, email or webhook',
});
export type ChannelEntry = z.output<typeof channelSchema>;

export const personSchema = z.strictObject({
  id: principalSchema,
  ...identitySchemas,
  groups: z.array(groupSchema).default([]),
});

/** A person, with their identities in the channels. */
export interface Person extends z.output<typeof personSchema> {
  /** The groups of the people in whose place they respond now: they are asked too. Default: none. */
  readonly delegatedGroups?: readonly string[];
  /** False: every answer of theirs is refused now, since nothing makes them an approver. Default: true. */
  readonly isApprover?: boolean;
}

/** The people of the channels as they are now: files change while the process runs. */
export type PeopleNow = () => readonly Person[];

const globSchema = z.string().superRefine((glob, context) => {
  const problem = globProblem(glob);
  if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
});

export const routeSchema = z
  .strictObject({
    tools: z.array(globSchema).min(1).default(['*']),
    agents: z.array(globSchema).min(1).default(['*']),
    groups: z.array(groupSchema).min(1).optional(),
    runs: z.array(globSchema).min(1).optional(),
    labels: z.record(labelNameSchema, globSchema).optional(),
    events: z
      .array(z.enum(notificationKinds).exclude(['reminder', 'digest']))
      .min(1)
      .default(['requested']),
    /** Only approvals whose rule names one of these risks. */
    risk: z.array(riskSchema).min(1).optional(),
    /** `requester`: the person behind the request, not the approvers. */
    tell: z.literal('requester', { error: 'must be "requester"' }).optional(),
    to: z.array(z.string()).min(1),
    after: durationSchema.optional(),
    reminders: z.array(durationSchema).min(1).max(20).optional(),
    digest: digestSchema.optional(),
  })
  .superRefine((route, context) => {
    if (route.tell === 'requester' && route.events.includes('requested')) {
      const message = 'needs events that are outcomes: a person does not answer their own request';
      context.addIssue({ code: 'custom', path: ['tell'], message });
    }
    for (const [key, given] of Object.entries(route.digest === undefined ? {} : notWithDigest(route))) {
      if (given) context.addIssue({ code: 'custom', path: [key], message: 'is not for a route with a digest' });
    }
    if (route.events.includes('requested')) return;
    for (const key of ['after', 'reminders', 'digest'] as const) {
      if (route[key] === undefined) continue;
      context.addIssue({ code: 'custom', path: [key], message: 'is only for a route whose events have "requested"' });
    }
  });

/** A digest lists what is pending again and again, and what has a high risk never waits for one. */
function notWithDigest({ after, reminders, risk = [], events }: DigestRoute): Readonly<Record<string, boolean>> {
  return {
    after: after !== undefined,
    reminders: reminders !== undefined,
    risk: risk.includes('high'),
    events: events.some((event) => event !== 'requested'),
  };
}

interface DigestRoute {
  readonly after?: number | undefined;
  readonly reminders?: readonly number[] | undefined;
  readonly risk?: readonly string[] | undefined;
  readonly events: readonly string[];
}

/** The part of a route that names channels, also where the rest of the route is wrong. */
export const routeTargetsSchema = z.object({
  to: z.array(z.string()),
  tell: z.unknown().optional(),
  digest: z.unknown().optional(),
});

/** A route: the messages, and the channels that they go to. */
export type Route = z.output<typeof routeSchema>;

/** The file as a whole. Its parts are validated one by one, so that all problems are reported at once. */
export const channelsFileSchema = z.strictObject({
  version: z.literal(1, { error: 'must be 1' }),
  people: z.array(z.unknown()).default([]),
  channels: z.array(z.unknown()).default([]),
  routes: z.array(z.unknown()).default([]),
});
