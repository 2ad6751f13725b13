import type { ChannelConfigOf } from '../config/load-channels.js';

/** The result of the check of an `Authorization` header. `unavailable`: the keys cannot be read. */
export type VerifiedSender =
  | { readonly status: 'valid'; readonly serviceUrl: string }
  | { readonly status: 'refused'; readonly why: string }
  | { readonly status: 'unavailable'; readonly why: string };

/** Proves that a request comes from the Bot Connector. Its caller compares the service url with that of the activity. */
export interface BotFrameworkAuth {
  /** Never rejects. */
  readonly verify: (authorization: string | undefined) => Promise<VerifiedSender>;
}

/** The bot whose requests are checked, and where the keys of the Bot Connector are published. */
export type BotFrameworkBot = Pick<ChannelConfigOf<'teams'>, 'openIdUrl' | 'appId'>;
