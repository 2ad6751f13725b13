import { fetchAnswers, loadChannels, noChannels, openChannels } from '@countersign/channels';
import type { ChannelsConfig, PeopleNow } from '@countersign/channels';
import { withVotesNow } from '@countersign/commands';
import { createResponsePort, createIsApprover } from '@countersign/gateway';
import type { Sessions, Tokens } from '@countersign/gateway';
import { topicNames } from '@countersign/message-bus';
import { createNotifier, createNotifierApp, createNotifierMetrics } from '@countersign/notifier';
import type { Notifier } from '@countersign/notifier';
import type { CallRow } from '@countersign/read-model';
import type { RuntimePorts } from '@countersign/shell';
import type { StandaloneConfig, StandalonePorts } from './config.js';
import type { Stores } from './open-stores.js';

/**
 * Reads the channels file with its secrets.
 * @throws ChannelsFileError naming every problem at once.
 */
export function readChannels(
  { channelsFile }: StandaloneConfig,
  { env = process.env }: StandalonePorts,
): ChannelsConfig {
  return channelsFile === null ? noChannels : loadChannels(channelsFile, env);
}

interface NotifierNeeds {
  readonly tokens: Tokens;
  readonly sessions: Sessions;
  readonly people: PeopleNow;
  readonly publicUrl: URL;
  readonly registry: Parameters<typeof createNotifierMetrics>[0];
}

/** The notifier of the process. */
export interface RunningNotifier extends Pick<Notifier, 'status'> {
  readonly stop: () => Promise<void>;
}

/**
 * Sends messages through the channels, and polls for responses that are not pushed. Returns undefined without channels.
 */
export async function startNotifier(
  { store, readModel, bus, commands }: Stores,
  { routes, channels: configured }: ChannelsConfig,
  { clock, ids, log, tracing }: RuntimePorts,
  { tokens, sessions, people, publicUrl, registry }: NotifierNeeds,
): Promise<RunningNotifier | undefined> {
  if (configured.length === 0) return undefined;
  const channels = await openChannels({ channels: configured }, { clock, publicUrl: publicUrl.href });
  const votesNow = (call: CallRow) => withVotesNow({ ...commands, clock }, call);
  const notifier = createNotifier({ store, readModel, votesNow, channels, people, routes, clock, ids, log, tracing });
  createNotifierMetrics(registry, notifier);
  const app = await createNotifierApp({ notifier, bus, topic: topicNames().events, log, tracing });
  notifier.start();
  await app.listen();
  const responses = createResponsePort({ commands, store, isApprover: createIsApprover({ tokens, sessions }) });
  const stopFetching = await fetchAnswers(configured, { responses, people, clock, log, publicUrl: publicUrl.href });
  return {
    status: notifier.status,
    stop: async () => {
      await Promise.all([stopFetching(), app.close()]);
    },
  };
}
