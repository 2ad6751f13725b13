import { createHttpClient, retryAfterMs } from '@countersign/http-client';
import type { Answer } from '@countersign/http-client';
import type { Clock } from '@countersign/runtime';
import { z } from 'zod';
import { noAnswerWords, otherFormWords } from '../answers/cause-code.js';
import { vendorWords } from '../answers/send-result.js';
import type { Refusal } from '../answers/send-result.js';
import { meaningOf } from '../answers/vendor-answers.js';
import type { ChannelConfigOf } from '../config/load-channels.js';

/** A message as the Bot Connector gets it. */
export interface TeamsActivity {
  readonly type: 'message';
  /** What a notification of the system shows. */
  readonly summary: string;
  readonly attachments: readonly [
    { readonly contentType: 'application/vnd.microsoft.card.adaptive'; readonly content: object },
  ];
}

/** Calls the Bot Connector. It neither retries nor waits; its caller does. */
export interface TeamsClient {
  /** Returns the id of the message; null when the response names none. @throws TeamsError; the errors of `HttpClient`. */
  readonly post: (conversation: string, activity: TeamsActivity, signal?: AbortSignal) => Promise<string | null>;
  /** Changes a message. @throws TeamsError; the errors of `HttpClient`. */
  readonly put: (conversation: string, id: string, activity: TeamsActivity, signal?: AbortSignal) => Promise<void>;
}

/** The other side refused. `refusal` has no secret. */
export class TeamsError extends Error {
  override readonly name = 'TeamsError';

  constructor(readonly refusal: Refusal) {
    super(refusal.reason);
  }
}

/** The two requests of a message, its token included, end within the 15 s of a channel. */
const timeoutMs = 7_000;
const retryAfterMsMax = 86_400_000;
/** A token is renewed so long before it ends. */
const renewMs = 300_000;
const scope = 'https://api.botframework.com/.default';

const tokenSchema = z.object({ access_token: z.string().min(1).max(16_384), expires_in: z.number().positive() });
const refusedTokenSchema = z.object({ error: z.string().max(100), error_description: z.string().optional() });
const sentSchema = z.object({ id: z.string().min(1).max(300) });
const refusedSchema = z.object({ error: z.object({ code: z.string().max(100), message: z.string().optional() }) });

interface Token {
  readonly value: string;
  readonly renewAt: number;
}

/** The client of a Teams channel. Its token goes to the configured address, and nowhere else. */
export function createTeamsClient(config: ChannelConfigOf<'teams'>, clock: Clock): TeamsClient {
  const connector = createHttpClient({ base: config.serviceUrl.replace(/\/+$/, ''), clock });
  let token: Token | undefined;
  const call = async (
    method: 'POST' | 'PUT',
    path: string,
    body: object,
    signal: AbortSignal | undefined,
  ): Promise<Answer> => {
    token = token !== undefined && clock.monotonic() < token.renewAt ? token : await fetchToken(config, clock, signal);
    const headers = { authorization: `Bearer ${token.value}` };
    const answer = await connector.send({ method, path, headers, body, timeoutMs, signal });
    if (answer.ok) return answer;
    // The next try asks for another token.
    if (answer.status === 401) token = undefined;
    throw new TeamsError(refusalOf(answer, clock));
  };
  const pathOf = (conversation: string): string => `/v3/conversations/${encodeURIComponent(conversation)}/activities`;
  return {
    post: async (conversation, activity, signal) => {
      const { body } = await call(
        'POST',
        pathOf(conversation),
        { ...activity, conversation: { id: conversation } },
        signal,
      );
      return sentSchema.safeParse(body).data?.id ?? null;
    },
    put: async (conversation, id, activity, signal) => {
      const path = `${pathOf(conversation)}/${encodeURIComponent(id)}`;
      await call('PUT', path, { ...activity, id, conversation: { id: conversation } }, signal);
    },
  };
}

/** The client credentials grant (RFC 6749, 4.4) at the tenant's own endpoint. */
async function fetchToken(
  { loginUrl, tenant, appId, clientSecret }: ChannelConfigOf<'teams'>,
  clock: Clock,
  signal: AbortSignal | undefined,
): Promise<Token> {
  const login = createHttpClient({ base: loginUrl.replace(/\/+$/, ''), clock });
  const secret = clientSecret.reveal();
  const form = { grant_type: 'client_credentials', client_id: appId, client_secret: secret, scope };
  const from = clock.monotonic();
  const answer = await login.send({
    ...{ method: 'POST', path: `/${tenant}/oauth2/v2.0/token`, timeoutMs, signal },
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(form).toString(),
  });
  if (!answer.ok) throw new TeamsError(refusalOfLogin(answer, clock, secret));
  const { data } = tokenSchema.safeParse(answer.body);
  if (data === undefined) throw new TeamsError({ means: 'channel', reason: otherFormWords('Microsoft Entra') });
  return { value: data.access_token, renewAt: from + data.expires_in * 1000 - renewMs };
}

function refusalOfLogin({ status, headers, body }: Answer, clock: Clock, secret: string): Refusal {
  const { error = '', error_description: description = '' } = refusedTokenSchema.safeParse(body).data ?? {};
  const means = meaningOf({ channel: 'teams', status, code: '' });
  const words = `${error} ${description}`.trim();
  const reason = `Microsoft Entra answers ${String(status)}${words === '' ? '' : `: ${vendorWords(words, [secret])}`}`;
  // A refused sign-in says nothing about the message, whatever its status.
  return { means: means === 'message' ? 'channel' : means, reason, ...afterOf(headers, clock) };
}

function refusalOf({ status, headers, body }: Answer, clock: Clock): Refusal {
  const { data } = refusedSchema.safeParse(body);
  const code = data?.error.code ?? '';
  const words = vendorWords(`${code} ${data?.error.message ?? ''}`.trim());
  const reason = `Teams answers ${String(status)}${words === '' ? '' : `: ${words}`}`;
  return { means: meaningOf({ channel: 'teams', status, code }), reason, ...afterOf(headers, clock) };
}

function afterOf(headers: Headers, clock: Clock): { readonly afterMs?: number } {
  const afterMs = retryAfterMs(headers.get('retry-after'), clock.now(), retryAfterMsMax);
  return afterMs === undefined ? {} : { afterMs };
}

/** What an error of the client is about, with its words. */
export function teamsRefusalOf(error: unknown): Refusal {
  return error instanceof TeamsError ? error.refusal : { means: 'retry', reason: noAnswerWords('Teams', error) };
}
