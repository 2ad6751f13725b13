import { existsSync } from 'node:fs';
import type { ChannelsConfig } from '@countersign/channels';
import type { KnownPeople } from '@countersign/policy';
import { localError } from '../cli-error.js';
import { tokensFileOf } from '../connection/connection.js';
import type { Output } from '../invocation.js';
import { textOf } from './policy-input.js';

/**
 * The people as the tokens file says, and the channels file that the environment names. Null: no tokens file is named,
 * and there is none in the data folder.
 * @throws CliError when one of the files cannot be used.
 */
export async function knownPeople({ terminal }: Output, named: string | undefined): Promise<KnownPeople | null> {
  const { env } = terminal;
  const file = named ?? tokensFileOf(env);
  if (named === undefined && !existsSync(file)) return null;
  if (named !== undefined) await textOf(named);
  const { createPeople, readTokens, TokensError } = await import('@countersign/cluster');
  try {
    const tokens = readTokens(file);
    const { COUNTERSIGN_OIDC_ISSUER: issuer = '' } = env;
    return createPeople({
      tokens: () => tokens,
      channels: await channelsOf(env),
      issuer: URL.parse(issuer),
    });
  } catch (error) {
    if (!(error instanceof TokensError)) throw error;
    const remedy = 'Repair it, or name another one with --tokens.';
    throw localError('refused', 'invalid-tokens-file', `The tokens file cannot be used: ${inOneLine(error)}`, remedy);
  }
}

/** Returns the channels that the environment names; undefined without any. @throws CliError when the file cannot be used. */
export async function channelsOf(
  env: Readonly<Record<string, string | undefined>>,
): Promise<ChannelsConfig | undefined> {
  const { COUNTERSIGN_CHANNELS: file = '' } = env;
  if (file === '') return undefined;
  const { ChannelsFileError, loadChannels } = await import('@countersign/channels');
  try {
    return loadChannels(file, env);
  } catch (error) {
    if (!(error instanceof ChannelsFileError)) throw error;
    const remedy = 'See `countersign channels check`, or unset COUNTERSIGN_CHANNELS.';
    throw localError('refused', 'invalid-channels-file', inOneLine(error), remedy);
  }
}

function inOneLine({ message }: Error): string {
  return message.replaceAll(/\n\s*/g, ' ');
}
