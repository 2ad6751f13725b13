import { fetchUnencoded } from '@countersign/http-client';
import { LogLevel, WebAPIHTTPError, WebAPIPlatformError, WebAPIRateLimitedError, WebClient } from '@slack/web-api';
import type { Logger, WebClientOptions } from '@slack/web-api';
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
export interface SlackFailure {
  readonly reason: string;
  /** Slack's id of the message, if the response has one. */
  readonly code?: string;
  readonly retryAfterMs?: number;
}

/** Classifies an error of Slack's clients. Its text is not repeated: it may contain the sent content. */
export function slackFailureOf(error: unknown): SlackFailure {
  if (error instanceof WebAPIRateLimitedError) {
    return { reason: 'the rate limit of Slack is reached', retryAfterMs: error.retryAfter * 1000 };
  }
  if (error instanceof WebAPIPlatformError) {
    const code = /^[a-z0-9_]{1,60}$/.exec(error.data.error)?.[0] ?? 'unknown';
    return { reason: `Slack answers ${code}`, code };
  }
  if (error instanceof WebAPIHTTPError) return { reason: `Slack answers ${String(error.statusCode)}` };
  return { reason: 'Slack does not respond' };
}
