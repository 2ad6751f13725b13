import { hash } from 'node:crypto';
import type { Clock, ResolveName, Secret } from '@countersign/runtime';
import { Webhook } from 'standardwebhooks';
import { toSendResult } from '../answers/send-result.js';
import { meaningOf } from '../answers/vendor-answers.js';
import type { Channel, LinkPorts, SendResult } from '../channel.js';
import type { ChannelConfigOf } from '../config/load-channels.js';
import { post } from './post.js';
import { isDigest } from '../digest-list.js';
import { webhookBodyOf, webhookDigestOf } from './webhook-body.js';
import { webhookSecretsOf } from './webhook-secret.js';

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

function signersOf(secret: Secret): readonly Webhook[] {
  return webhookSecretsOf(secret.reveal()).map((one) => new Webhook(one));
}

function toResult(answer: Awaited<ReturnType<typeof post>>): SendResult {
  if (answer.status !== 'answered') return toSendResult({ means: 'retry', reason: answer.message });
  const { httpStatus: status, retryAfterMs: afterMs } = answer;
  const means = meaningOf({ channel: 'webhook', status });
  const reason =
    means === 'off'
      ? 'the endpoint returned 410 Gone: it accepts no more messages'
      : `the endpoint answers ${String(status)}`;
  return toSendResult({ means, reason, afterMs });
}
