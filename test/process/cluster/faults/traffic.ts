import { approvalScenes } from '../../traffic/approval-scenes.js';
import { batchScenes } from '../../traffic/batch-scenes.js';
import { executionScenes } from '../../traffic/execution-scenes.js';
import { createLedger } from '../../traffic/ledger.js';
import { SceneOver } from '../../traffic/scene.js';
import type { Stage } from '../../traffic/scene.js';
import { createNames } from '../../traffic/traffic.js';
import type { Traffic } from '../../traffic/traffic.js';
import type { Random } from '../../harness/random.js';
import { tokens } from './installation.js';
import type { Installation } from './installation.js';
import { kafkaScenes } from './kafka-scenes.js';

type Played = (stage: Stage) => Promise<void>;

/** Agents and people over both gateways and on Kafka, one scene after the other, across whatever happens. */
export function startTraffic(installation: Installation, users = 8): Traffic {
  const { journal, random, requests } = installation;
  const prefix = installation.nextPrefix();
  const overHttp: readonly (readonly [string, Played])[] = Object.entries({
    ...approvalScenes,
    ...executionScenes,
    ...batchScenes,
  });
  const onKafka: readonly (readonly [string, Played])[] = Object.entries(kafkaScenes).map(([name, scene]) => [
    `kafka-${name}`,
    (stage) => scene(stage, requests),
  ]);
  let isStopping = false;
  let played = 0;
  const play = async (user: number, userRandom: Random): Promise<void> => {
    const http = installation.openHttp();
    const ledger = createLedger(http, tokens, journal, `${prefix}-${String(user)}`);
    // Every other user is an agent on Kafka.
    const scenes = user % 2 === 0 ? overHttp : onKafka;
    for (let turn = 1; !isStopping; turn += 1) {
      const [name, scene] = userRandom.pick(scenes);
      const names = createNames(`${name}-${prefix}-${String(user)}-${String(turn)}`);
      try {
        await scene({ ledger, journal, random: userRandom, name: names });
      } catch (error) {
        if (!(error instanceof SceneOver)) journal.surprises.push(`${name} broke off: ${String(error)}`);
      }
      played += 1;
    }
    http.close();
  };
  const playing = Array.from({ length: users }, (_, user) => play(user, random.fork()));
  return {
    scenes: () => played,
    stop: async () => {
      isStopping = true;
      await Promise.all(playing);
    },
  };
}
