import { topicNames } from '@countersign/message-bus';
import type { CreateChecker } from './checker.ts';

/**
 * Every recorded event reaches the events topic, and the first copies of a run's events are there in order. Events of no run,
 * such as those of grants, have no order among them.
 */
export const eventsTopic: CreateChecker = ({ world, broker }, fail) => ({
  atEnd: () => {
    const position = new Map(world.log.events.map((event) => [event.eventId, event.position]));
    const seen = new Set<string>();
    const last = new Map<string, number>();
    for (const { key, headers } of broker.all(topicNames().events)) {
      const id = headers['ce_id'] ?? '';
      const place = position.get(id);
      // A forged event is in no log.
      if (place === undefined || seen.has(id)) continue;
      seen.add(id);
      if (key === null) continue;
      const before = last.get(key) ?? 0;
      if (place < before) fail(`event ${place} of ${key} stands behind ${before} on the events topic`);
      last.set(key, place);
    }
    const missing = world.log.events.find(({ eventId }) => !seen.has(eventId));
    if (missing !== undefined) fail(`event ${missing.position} ${missing.type} never reached the events topic`);
  },
});
