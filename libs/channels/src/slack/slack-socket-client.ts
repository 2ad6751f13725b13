import { fetchUnencoded } from '@countersign/http-client';
import { SocketModeClient } from '@slack/socket-mode';
import type { ChannelConfigOf } from '../config/load-channels.js';
import { silentLogger, slackClientOptions } from './slack-client.js';
import { createSlackDispatcher } from './slack-dispatcher.js';

/** An envelope of the connection, and its acknowledgement. */
export interface Envelope {
  readonly envelope_id: string;
  readonly type: string;
  readonly body: unknown;
  /** Rejects when the connection is gone. */
  readonly ack: (response?: object) => Promise<void>;
}

/** One connection to Slack. The caller decides when to open the next one. */
export interface SlackConnection {
  /** Resolves when Slack sends hello; rejects without it. */
  readonly open: () => Promise<void>;
  /** Resolves when the connection has ended on either side. */
  readonly over: Promise<void>;
  /** Ends it; asked again, without waiting for Slack to agree. */
  readonly close: () => void;
}

/**
 * Opens a connection through `apps.connections.open`. The vendor's client checks it with pings, and closes it when
 * Slack asks for that. It does not reconnect: it would do so in the background, where an error ends the process.
 */
export function createSlackConnection(
  config: ChannelConfigOf<'slack'>,
  onEnvelope: (envelope: Envelope) => void,
  signal: AbortSignal,
): SlackConnection {
  const link = createSlackDispatcher();
  const client = new WatchedClient({
    appToken: config.appToken?.reveal() ?? '',
    autoReconnectEnabled: false,
    logger: silentLogger,
    dispatcher: link.dispatcher,
    clientOptions: {
      ...slackClientOptions(config),
      fetch: (url, { signal: timeout, ...init } = {}) =>
        fetchUnencoded(url, {
          ...init,
          signal: AbortSignal.any(timeout === undefined ? [signal] : [timeout, signal]),
        }),
    },
  });
  client.on('slack_event', (message: Partial<Envelope>) => {
    if (isEnvelope(message)) onEnvelope(message);
  });
  client.once('disconnected', link.destroy);
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
  /** The vendor's own handler throws where it cannot be caught: a message of unknown form would end the process. */
  protected override async onWebSocketMessage(data: string | ArrayBuffer, isBinary: boolean): Promise<void> {
    await super.onWebSocketMessage(data, isBinary).catch(() => undefined);
  }
}
