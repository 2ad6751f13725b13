import { generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { cardProblem } from './adaptive-card-rules.js';
import { openVendorServer } from './vendor-server.js';
import type { Received, VendorAnswer, VendorServer } from './vendor-server.js';

/** The registration of a bot. */
export interface TeamsBot {
  readonly tenant: string;
  readonly appId: string;
  readonly clientSecret: string;
}

/** A message that was posted or changed. */
export interface TeamsCall {
  readonly method: 'POST' | 'PUT';
  readonly conversation: string;
  /** The id of the changed message. */
  readonly id?: string;
  readonly args: Readonly<Record<string, unknown>>;
}

export interface TeamsServer extends VendorServer {
  /** Addresses for the channels file. */
  readonly urls: { readonly serviceUrl: string; readonly loginUrl: string; readonly openIdUrl: string };
  readonly calls: () => readonly TeamsCall[];
  /** How often a token was given. */
  readonly tokensGiven: () => number;
  /** Signs the token of a request to the bot, as the Bot Connector does. `change`: claims that differ. */
  readonly tokenFor: (
    change?: Readonly<Record<string, unknown>>,
    key?: 'endorsed' | 'other channel' | 'unknown',
  ) => string;
}

/** Where the Bot Connector says that it is: another address than the one that messages are sent to. */
export const regionalUrl = 'https://smba.trafficmanager.net/emea/';
const messageBytesMax = 100 * 1024;

interface SigningKey {
  readonly kid: string;
  readonly endorsements: readonly string[];
  readonly isPublished: boolean;
}

const kinds: Readonly<Record<'endorsed' | 'other channel' | 'unknown', SigningKey>> = {
  endorsed: { kid: 'k1', endorsements: ['msteams', 'webchat'], isPublished: true },
  'other channel': { kid: 'k2', endorsements: ['directline'], isPublished: true },
  unknown: { kid: 'k3', endorsements: ['msteams'], isPublished: false },
};

/**
 * A local server with the documented parts of Microsoft Entra (client credentials), of the Bot Connector (its keys, messages, changes),
 * as strict as the documentation.
 */
export async function openTeamsServer(bot: TeamsBot): Promise<TeamsServer> {
  const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const other = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const jwk = pair.publicKey.export({ format: 'jwk' });
  const tokens = new Set<string>();
  const messages = new Map<string, number>();
  const server = await openVendorServer((request): VendorAnswer => {
    const { path } = request;
    if (path === '/v1/.well-known/openidconfiguration') {
      const signing = { id_token_signing_alg_values_supported: ['RS256'] };
      return {
        body: { issuer: 'https://api.botframework.com', jwks_uri: `${server.url}/v1/.well-known/keys`, ...signing },
      };
    }
    if (path === '/v1/.well-known/keys') {
      const published = Object.values(kinds).filter(({ isPublished }) => isPublished);
      return { body: { keys: published.map(({ kid, endorsements }) => ({ ...jwk, use: 'sig', kid, endorsements })) } };
    }
    if (path.endsWith('/oauth2/v2.0/token')) return grant(request, bot, tokens);
    return take(request, tokens, messages);
  });
  return {
    ...server,
    urls: {
      serviceUrl: `${server.url}/teams`,
      loginUrl: server.url,
      openIdUrl: `${server.url}/v1/.well-known/openidconfiguration`,
    },
    calls: () => server.received.flatMap((request) => toCall(request) ?? []),
    tokensGiven: () => tokens.size,
    tokenFor: (change = {}, key = 'endorsed') => {
      const now = Math.floor(Date.now() / 1000);
      const claims = { iss: 'https://api.botframework.com', aud: bot.appId, nbf: now - 60, exp: now + 3_600 };
      const header = { alg: 'RS256', typ: 'JWT', kid: kinds[key].kid };
      const parts = [header, { ...claims, serviceurl: regionalUrl, ...change }];
      const text = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
      const privateKey = key === 'unknown' ? other.privateKey : pair.privateKey;
      return `${text}.${sign('sha256', Buffer.from(text), privateKey).toString('base64url')}`;
    },
  };
}

function grant({ method, path, body, headers }: Received, bot: TeamsBot, tokens: Set<string>): VendorAnswer {
  const form = new URLSearchParams(body);
  const type = headers['content-type']?.split(';')[0];
  if (method !== 'POST' || type !== 'application/x-www-form-urlencoded') return noGrant(400, 'invalid_request');
  if (path !== `/${bot.tenant}/oauth2/v2.0/token`)
    return noGrant(400, 'invalid_request', 'AADSTS90002: Tenant not found.');
  if (form.get('grant_type') !== 'client_credentials') return noGrant(400, 'unsupported_grant_type');
  if (form.get('client_id') !== bot.appId)
    return noGrant(400, 'unauthorized_client', 'AADSTS700016: Application not found.');
  if (form.get('client_secret') !== bot.clientSecret) {
    return noGrant(401, 'invalid_client', 'AADSTS7000215: Invalid client secret provided.');
  }
  if (form.get('scope') !== 'https://api.botframework.com/.default') return noGrant(400, 'invalid_scope');
  const parts = [
    '{"alg":"RS256","typ":"JWT"}',
    JSON.stringify({ aud: 'https://api.botframework.com', appid: bot.appId }),
    randomUUID(),
  ];
  const token = parts.map((part) => Buffer.from(part).toString('base64url')).join('.');
  tokens.add(token);
  return { body: { token_type: 'Bearer', expires_in: 3_599, ext_expires_in: 3_599, access_token: token } };
}

function noGrant(status: number, error: string, description = error): VendorAnswer {
  return { status, body: { error, error_description: `${description} Trace ID: 1` } };
}

const messagePath = /^\/teams\/v3\/conversations\/([^/?]+)\/activities(?:\/([^/?]+))?$/;

function toCall({ method, path, body }: Received): TeamsCall | undefined {
  const [, conversation, id] = messagePath.exec(path) ?? [];
  if (conversation === undefined || (method !== 'POST' && method !== 'PUT')) return undefined;
  const args = JSON.parse(body) as TeamsCall['args'];
  const named = id === undefined ? {} : { id: decodeURIComponent(id) };
  return { method, conversation: decodeURIComponent(conversation), ...named, args };
}

/** Takes a message. `messages` holds the conversation's base and the id of each. */
function take(request: Received, tokens: ReadonlySet<string>, messages: Map<string, number>): VendorAnswer {
  const [, token = ''] = /^Bearer (.+)$/.exec(request.headers.authorization ?? '') ?? [];
  if (!tokens.has(token)) return no(401, 'BotNotRegistered', 'No registration found for this bot.');
  const call = toCall(request);
  if (call === undefined) return no(404, 'NotFound', 'no such path');
  if (Buffer.byteLength(request.body) > messageBytesMax) return no(413, 'MessageSizeTooBig', 'Message size too large.');
  const [base = ''] = call.conversation.split(';');
  if (!/^(19:.+@(thread|unq)\.|a:)/.test(base)) return no(404, 'ConversationNotFound', 'Conversation not found.');
  const problem = problemOf(call);
  if (problem !== undefined) return no(400, 'BadSyntax', problem);
  if (call.method === 'POST' && call.id === undefined) {
    const id = `17000000000${String(messages.size).padStart(2, '0')}`;
    messages.set(`${base}|${id}`, 1);
    return { status: 201, body: { id } };
  }
  const key = `${base}|${call.id ?? ''}`;
  if (!messages.has(key)) return no(404, 'ActivityNotFoundInConversation', 'The message is not there.');
  return { body: { id: call.id } };
}

function no(status: number, code: string, message: string): VendorAnswer {
  return { status, body: { error: { code, message } } };
}

function problemOf({ method, id, args }: TeamsCall): string | undefined {
  if (args['type'] !== 'message') return 'the type of an activity must be message';
  if (method === 'PUT' && args['id'] !== id) return 'the id of the activity is another one than that of the path';
  const attachments = args['attachments'] as readonly { contentType: string; content: unknown }[] | undefined;
  if (attachments?.length !== 1) return 'one attachment is expected';
  const [first] = attachments;
  if (first?.contentType !== 'application/vnd.microsoft.card.adaptive') return 'the attachment is no Adaptive Card';
  return cardProblem(first.content);
}

/** An activity of a press, as Teams sends it. */
export function teamsPress(
  { tenant, appId }: Pick<TeamsBot, 'tenant' | 'appId'>,
  card: { readonly conversation: string; readonly id: string },
  data: { readonly verb: string; readonly data: object },
  change: object = {},
): object {
  return {
    ...{ type: 'invoke', name: 'adaptiveCard/action', id: 'f:6f3a', channelId: 'msteams', serviceUrl: regionalUrl },
    timestamp: '2026-11-22T10:00:01.000Z',
    from: { id: '29:1alice', name: 'Alice', aadObjectId: 'aaaaaaaa-0000-4000-8000-000000000001' },
    conversation: {
      ...{ id: `${card.conversation};messageid=${card.id}`, conversationType: 'channel', isGroup: true },
      tenantId: tenant,
    },
    recipient: { id: `28:${appId}`, name: 'Countersign' },
    replyToId: card.id,
    channelData: { tenant: { id: tenant }, channel: { id: card.conversation }, source: { name: 'message' } },
    value: { action: { type: 'Action.Execute', title: 'a title', ...data }, trigger: 'manual' },
    ...change,
  };
}
