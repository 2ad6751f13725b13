import { fetchUnencoded } from '@countersign/http-client';
import {
  LogLevel,
  SlackError,
  WebAPIHTTPError,
  WebAPIPlatformError,
  WebAPIRateLimitedError,
  WebClient,
} from '@slack/web-api';
import type { Logger, WebClientOptions } from '@slack/web-api';
import { noAnswerWords, otherFormWords } from '../answers/cause-code.js';
import type { Refusal } from '../answers/send-result.js';
import { vendorWords } from '../answers/send-result.js';
import { meaningOf } from '../answers/vendor-answers.js';
import type { ChannelConfigOf } from '../config/load-channels.js';

const timeoutMs = 10_000;

const nothing = (): void => undefined;

/** The vendor's log could name what was sent. */
export const silentLogger: Logger = {
  ...{ debug: nothing, info: nothing, warn: nothing, error: nothing, setLevel: nothing, setName: nothing },
  getLevel: () => LogLevel.ERROR,
};

/** Calls Slack's API. The client neither retries nor waits; its caller does. */
export function slackClientOptions({ apiUrl }: Pick<ChannelConfigOf<'slack'>, 'apiUrl'>): WebClientOptions {
  return {
    slackApiUrl: `${apiUrl.replace(/\/+$/, '')}/`,
    retryConfig: { retries: 0 },
    rejectRateLimitedCalls: true,
    timeout: timeoutMs,
    fetch: fetchUnencoded,
  };
}

/** The client of a Slack channel. */
export function createSlackClient(config: ChannelConfigOf<'slack'>): WebClient {
  return new WebClient(config.botToken.reveal(), {
    ...slackClientOptions(config),
    logLevel: LogLevel.ERROR,
    logger: silentLogger,
  });
}

/** Why a call failed, in words without a secret. */
export interface SlackFailure extends Refusal {
  readonly afterMs?: number;
}

/** Returns whether an error is one of Slack's clients. */
export function isOfSlack(error: unknown): boolean {
  return error instanceof SlackError;
}

/**
 * Classifies an error of Slack's clients. Only codes of Slack are repeated, and what it says of blocks and scopes: any
 * other text may contain the sent content.
 */
export function slackFailureOf(error: unknown): SlackFailure {
  if (error instanceof WebAPIRateLimitedError) {
    return { means: 'retry', reason: limitWords, afterMs: error.retryAfter * 1000 };
  }
  if (error instanceof WebAPIPlatformError) return failureOfAnswer(error.data);
  if (error instanceof WebAPIHTTPError) {
    const { statusCode: status, headers } = error;
    const after = Number(headers['retry-after']);
    const reason = `Slack answers ${String(status)}`;
    return { means: meaningOf({ channel: 'slack', status }), reason, ...(after > 0 && { afterMs: after * 1000 }) };
  }
  // The vendor's client throws it for 429 without a time.
  const isLimited = error instanceof Error && error.message.startsWith('Retry header');
  return { means: 'retry', reason: isLimited ? limitWords : noAnswerWords('Slack', error) };
}

const limitWords = 'the rate limit of Slack is reached';

function failureOfAnswer(answer: WebAPIPlatformError['data']): SlackFailure {
  const given: unknown = answer.error;
  const code = typeof given === 'string' && /^[a-z0-9_]{1,60}$/.test(given) ? given : undefined;
  if (code === undefined) return { means: 'channel', reason: otherFormWords('Slack') };
  const needed: unknown = Reflect.get(answer, 'needed');
  const { messages, retryAfter } = answer.response_metadata ?? {};
  const said: unknown[] = [typeof needed === 'string' ? `it needs ${needed}` : undefined, messages].flat();
  const details = said.filter((one) => typeof one === 'string').join('; ');
  const reason = `Slack answers ${code}${details === '' ? '' : `: ${vendorWords(details)}`}`;
  const after = typeof retryAfter === 'number' ? { afterMs: retryAfter * 1000 } : {};
  return { means: meaningOf({ channel: 'slack', error: code }), reason, ...after };
}
