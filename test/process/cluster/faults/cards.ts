import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openVendorServer } from '@countersign/channels/testing';
import type { Entry } from '../../audit/log.js';
import { onCleanup, temporaryFolder } from '../../harness/cleanup.js';

/** The notifiers' target: a webhook of the test, outside the product. */
export interface Cards {
  readonly env: Readonly<Record<string, string>>;
  /** Returns whether the log has a delivery for every outcome. */
  readonly areAllRecorded: (entries: readonly Entry[]) => boolean;
  /** Every outcome was delivered; each kill of a notifier repeated at most one message, and none twice. */
  readonly complaints: (entries: readonly Entry[], kills: number) => readonly string[];
}

const channelId = 'pager';
const kinds = ['approved', 'denied', 'expired'] as const;

/** Opens it, and writes the channels file that names it. */
export async function openCards(): Promise<Cards> {
  const server = await openVendorServer(() => ({ status: 204 }));
  onCleanup(server.close);
  const file = join(temporaryFolder(), 'channels.json');
  const channel = { id: channelId, type: 'webhook', url: server.url, secret: { env: 'HOOK_SECRET' } };
  const routes = [{ to: [channelId] }, { events: kinds, to: [channelId] }];
  writeFileSync(
    file,
    JSON.stringify({ version: 1, people: [], channels: [{ ...channel, allowPrivateNetwork: true }], routes }),
  );
  return {
    env: { COUNTERSIGN_CHANNELS: file, HOOK_SECRET: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' },
    areAllRecorded: (entries) => {
      const told = new Set(entries.flatMap(toldBy));
      return entries.flatMap(endOf).every((end) => told.has(end));
    },
    complaints: (entries, kills) => {
      const bodies = server.received.map(({ body }) => JSON.parse(body) as Body);
      const told = new Set(bodies.map(({ type, data }) => `${data.approvalId} ${type.replace('approval.', '')}`));
      const copies = Map.groupBy(server.received, ({ headers }) => String(headers['webhook-id']));
      const repeats = [...copies].filter(([, { length }]) => length > 1);
      const tooMany = repeats.length > kills ? [`${repeats.length} messages were sent again after ${kills} kills`] : [];
      return [
        ...entries.flatMap(endOf).flatMap((end) => (told.has(end) ? [] : [`no message was sent about ${end}`])),
        ...repeats.flatMap(([id, { length }]) => (length > 2 ? [`message ${id} was sent ${length} times`] : [])),
        ...tooMany,
      ];
    },
  };
}

interface Body {
  readonly type: string;
  readonly data: { readonly approvalId: string };
}

/** How an approval ended, from an event of its call: `apr_… denied`. */
function endOf({ type, data }: Entry): readonly string[] {
  const { approvalId, resolution } = data as { readonly approvalId: string; readonly resolution: string };
  if (type === 'ApprovalExpired') return [`${approvalId} expired`];
  if (type === 'ApprovalResponded' && resolution !== 'pending') return [`${approvalId} ${resolution}`];
  return [];
}

function toldBy({ type, data }: Entry): readonly string[] {
  const { approvalId, kind } = data as { readonly approvalId: string; readonly kind: string };
  return type === 'NotificationDelivered' ? [`${approvalId} ${kind}`] : [];
}
