import { hash } from 'node:crypto';
import type { Clock, ResolveName, Secret } from '@countersign/runtime';
import { Webhook } from 'standardwebhooks';
import type { Channel, LinkPorts, SendResult } from '../channel.js';
import type { ChannelConfigOf } from '../config/load-channels.js';
import { post } from './post.js';
import { isDigest } from '../digest-list.js';
import { webhookBodyOf, webhookDigestOf } from './webhook-body.js';

export interface WebhookPorts extends LinkPorts {
  readonly clock: Clock;
  /** Default: the system's. */
  readonly resolve?: ResolveName;
}

const timeoutMs = 10_000;

/**
 * Posts Standard Webhooks 1.0 messages. A secret may be several secrets separated by blanks, the newest first: each
 * signs, so that the receiver can change to the new one at any time.
 */
export function createWebhookChannel(config: ChannelConfigOf<'webhook'>, ports: WebhookPorts): Channel {
  const signers = signersOf(config.secret);
  const url = new URL(config.url);
  return {
    id: config.id,
    type: 'webhook',
    addressing: 'shared',
    endpoint: webhookEndpoint(config),
    gatherMs: 0,
    tellsOutcomeBelow: false,
    send: async (notices, { signal }) => {
      const [notice] = notices;
      const body = isDigest(notices)
        ? webhookDigestOf(notices, ports.publicUrl)
        : webhookBodyOf(notice, ports.publicUrl);
      const sentAt = new Date(ports.clock.now());
      const headers = {
        'content-type': 'application/json',
        'user-agent': 'countersign-notifier',
        'webhook-id': notice.messageId,
        'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1000)),
        'webhook-signature': signers.map((signer) => signer.sign(notice.messageId, sentAt, body)).join(' '),
      };
      const { allowPrivateNetwork } = config;
      return toResult(await post({ url, headers, body, timeoutMs, allowPrivateNetwork, signal }, ports));
    },
  };
}

/** Names the address of a webhook. Its hash: an address may have a secret in it. */
export function webhookEndpoint({ url }: Pick<ChannelConfigOf<'webhook'>, 'url'>): string {
  return hash('sha256', new URL(url).href, 'hex').slice(0, 16);
}

/** `whsec_` and base64, as in the standard; any other text is used as the bytes of the key. */
function signersOf(secret: Secret): readonly Webhook[] {
  return secret
    .reveal()
    .split(/\s+/)
    .map((one) => (one.startsWith('whsec_') ? new Webhook(one) : new Webhook(one, { format: 'raw' })));
}

function toResult(answer: Awaited<ReturnType<typeof post>>): SendResult {
  if (answer.status !== 'answered') return { status: 'failed', reason: answer.message };
  const { httpStatus, retryAfterMs } = answer;
  if (httpStatus >= 200 && httpStatus < 300) return { status: 'delivered', messageRef: null };
  if (httpStatus === 410)
    return { status: 'off', reason: 'the endpoint returned 410 Gone: it accepts no more messages' };
  const reason = `the endpoint answers ${String(httpStatus)}`;
  return { status: 'failed', reason, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
}
