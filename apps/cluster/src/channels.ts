import { loadChannels } from '@countersign/channels';
import type { ChannelsConfig } from '@countersign/channels';
import type { Log } from '@countersign/runtime';
import type { RoleConfig } from './config.js';

/**
 * Reads the channels file with its secrets; undefined without one. A channel whose secrets cannot be used is off: people
 * decide in the inbox meanwhile, and the API runs.
 * @throws ChannelsFileError naming every problem at once, when the file itself is wrong.
 */
export function readChannels({ channelsFile }: Pick<RoleConfig, 'channelsFile'>, log: Log): ChannelsConfig | undefined {
  if (channelsFile === null) return undefined;
  const config = loadChannels(channelsFile, process.env, { broken: 'off' });
  for (const { id: channelId, reason } of config.broken) {
    log.error({ channelId, reason }, 'a channel is off: mend its secrets, and restart this process');
  }
  return config;
}
