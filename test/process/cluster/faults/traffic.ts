import { createLedger } from '../../traffic/ledger.js';
import { httpScenes, startUsers } from '../../traffic/traffic.js';
import type { NamedScene, Traffic } from '../../traffic/traffic.js';
import { tokens } from './installation.js';
import type { Installation } from './installation.js';
import { kafkaScenes } from './kafka-scenes.js';

/** Three or four of eight users are in a scene at any time. Without pauses, the load takes most of a test's processor time. */
const restMsMax = 2_000;

/** Agents and people through both gateways and on Kafka, one scene after the other, during all faults. */
export function startTraffic(installation: Installation, users = 8): Traffic {
  const { journal, random, requests } = installation;
  const onKafka = Object.entries(kafkaScenes).map(([name, scene]): NamedScene => [
    `kafka-${name}`,
    (stage) => scene(stage, requests),
  ]);
  return startUsers({ journal, random, users, prefix: installation.nextPrefix(), restMsMax }, (user, name) => {
    const http = installation.openHttp();
    return {
      ledger: createLedger(http, tokens, journal, name),
      // Every other user is an agent on Kafka.
      scenes: user % 2 === 0 ? httpScenes : onKafka,
      leave: http.close,
    };
  });
}
