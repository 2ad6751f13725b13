import { Registry } from 'prom-client';
import { createNotifierMetrics } from './notifier-metrics.js';
import type { NotifierStatus } from './notifier-port.js';

it('tells of each channel which one state it is in, what waits for it, and what is due later', async () => {
  const registry = new Registry();
  let status: NotifierStatus = {
    channels: {
      'ops-slack': { state: 'ok', waiting: 2, reason: null, givenUp: { message: 3, recipient: 0, channel: 0 } },
      pager: { state: 'failing', waiting: 7, reason: '503', givenUp: { message: 0, recipient: 2, channel: 1 } },
    },
    planned: 3,
    untold: 5,
    notRecovered: undefined,
  };
  createNotifierMetrics(registry, { status: () => status });
  const lines = async (): Promise<readonly string[]> => (await registry.metrics()).split('\n');
  expect(await lines()).toEqual(
    expect.arrayContaining([
      'countersign_channel_state{channel="ops-slack",state="ok"} 1',
      'countersign_channel_state{channel="ops-slack",state="off"} 0',
      'countersign_channel_state{channel="pager",state="failing"} 1',
      'countersign_channel_waiting{channel="pager"} 7',
      'countersign_notifications_undeliverable_total{channel="ops-slack",about="message"} 3',
      'countersign_notifications_undeliverable_total{channel="pager",about="recipient"} 2',
      'countersign_notifications_undeliverable_total{channel="pager",about="channel"} 1',
      'countersign_notifications_planned 3',
      'countersign_requesters_untold_total 5',
    ]),
  );
  status = {
    channels: { pager: { state: 'off', waiting: 0, reason: '410', givenUp: { message: 0, recipient: 0, channel: 0 } } },
    planned: 0,
    untold: 6,
    notRecovered: undefined,
  };
  expect(await lines()).toEqual(
    expect.arrayContaining([
      'countersign_channel_state{channel="pager",state="failing"} 0',
      'countersign_channel_state{channel="pager",state="off"} 1',
      'countersign_requesters_untold_total 6',
    ]),
  );
});
