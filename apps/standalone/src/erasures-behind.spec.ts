import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { createErasures } from '@countersign/gateway';
import { openReadModel } from '@countersign/read-model';
import { actor, callIdOf, prepareErasing, subject } from './testing/erasing.js';

const { clock, ids, log, request, folder, stores } = prepareErasing();

it('is refused for a call that the read model has not seen yet, since it may be open', async () => {
  const { vault, commands } = stores();
  const { keys, store, texts: seal } = vault;
  const { raw, settled } = store;
  // It follows nothing, as that of a gateway whose event store is slow.
  const readModel = await openReadModel({ file: join(folder(), 'behind.db'), source: store, log, seal });
  await request('a');
  const rewriteCopies = () => readModel.rebuild().then(() => undefined);
  const ports = { keys, store, raw, settled, readModel, commands, rewriteCopies, clock, ids, log };
  const erased = await createErasures(ports).erase(actor, { subject }, ids.uuid());
  readModel.close();
  expect(erased).toMatchObject({
    status: 'refused',
    refusal: { code: 'calls-open', extra: { openCalls: [callIdOf('a')] } },
  });
});
