import { SocketModeClient } from '@slack/socket-mode';
import type { ChannelConfigOf } from '../config/load-channels.js';
import { silentLogger, slackClientOptions } from './slack-client.js';

/** What came over the connection, and how it is acknowledged. */
export interface Envelope {
  readonly envelope_id: string;
  readonly type: string;
  readonly body: unknown;
  /** Rejects when the connection is gone. */
  readonly ack: (response?: object) => Promise<void>;
}

/** One connection to Slack, and no other one after it: when to try again is decided by whoever opened it. */
export interface SlackConnection {
  /** Resolves when Slack says hello; rejects when it does not. */
  readonly open: () => Promise<void>;
  /** Resolves when the connection is over, whoever ended it. */
  readonly over: Promise<void>;
  /** Ends it; asked again, without waiting for Slack to agree. */
  readonly close: () => void;
}

/**
 * Opens `apps.connections.open` and what it answers. The vendor's client watches the connection with pings, and closes it
 * when Slack asks for that. It does not reconnect: it would do so in the background, where an error ends the process.
 */
export function createSlackConnection(
  config: ChannelConfigOf<'slack'>,
  onEnvelope: (envelope: Envelope) => void,
  signal: AbortSignal,
): SlackConnection {
  const client = new WatchedClient({
    appToken: config.appToken?.reveal() ?? '',
    autoReconnectEnabled: false,
    logger: silentLogger,
    clientOptions: {
      ...slackClientOptions(config),
      fetch: (url, { signal: timeout, ...init } = {}) =>
        fetch(url, {
          ...init,
          signal: AbortSignal.any(timeout === undefined ? [signal] : [timeout, signal]),
        }),
    },
  });
  client.on('slack_event', (message: Partial<Envelope>) => {
    if (isEnvelope(message)) onEnvelope(message);
  });
  return {
    open: async () => {
      await client.start();
    },
    over: new Promise((resolve) => client.once('disconnected', () => resolve())),
    close: () => void client.disconnect(),
  };
}

function isEnvelope(message: Partial<Envelope>): message is Envelope {
  return typeof message.envelope_id === 'string' && typeof message.type === 'string';
}

class WatchedClient extends SocketModeClient {
  /** The vendor's own lets an error out where nobody can catch it: a message of no known form would end the process. */
  protected override async onWebSocketMessage(data: string | ArrayBuffer, isBinary: boolean): Promise<void> {
    await super.onWebSocketMessage(data, isBinary).catch(() => undefined);
  }
}
