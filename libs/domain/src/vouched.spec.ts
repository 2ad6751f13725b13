import { describe, it } from '@jest/globals';
import { answer, deny, editBy, request, respond, responder, stage, withdraw } from './testing/fixtures.js';
import { given, history } from './testing/given.js';

const three = { stages: [stage({ approve: 3, deny: 3 })] };
/** Ann signs in, and the policy file says that she is a person of the front end too. */
const ann = responder('ann', { aliases: ['desk#Ann'] });
const annAtDesk = responder('desk#Ann', { aliases: ['ann'], via: 'desk', vouchedBy: 'desk' });
const kim = responder('desk#kim', { via: 'desk', vouchedBy: 'desk' });

describe('a front end, in the name of a person who signs in too,', () => {
  it.each([
    ['an edit', editBy(annAtDesk), []],
    ['an answer', answer(annAtDesk, 'done'), []],
    ['an agreement to the edit of another', respond(annAtDesk), [editBy(kim)]],
    ['a refusal after the edit of another', deny(annAtDesk), [editBy(kim)]],
  ])('cannot replace her own refusal by %s', (_, second, between) => {
    given(history(request(three), deny(ann), ...between))
      .when(second)
      .thenRefused('already-voted');
  });

  it('replaces what it passed on itself, and she replaces it', () => {
    const edited = history(request(three), deny(annAtDesk), editBy(kim));
    given(edited).when(respond(annAtDesk)).thenAccepted({ resolution: 'pending' });
    given(edited)
      .when(respond(ann))
      .thenAccepted({ resolution: 'pending', endedVotes: ['desk#Ann'] });
  });

  it('leaves room for her own refusal, however often it responds', () => {
    const often = Array.from({ length: 256 }, () => [respond(annAtDesk), withdraw('desk#Ann')]).flat();
    const full = history(request(three), ...often);
    given(full).when(respond(annAtDesk)).thenRefused('too-many', { limit: 256 });
    given(full).when(deny(ann)).thenAccepted({ resolution: 'pending' });
  });

  it('cannot fill the history in the names of people whom it invents', () => {
    const people = Array.from({ length: 256 }, (_, index) => `desk#p${String(index)}`);
    const often = people.flatMap((name) => [
      respond(responder(name, { via: 'desk', vouchedBy: 'desk' })),
      withdraw(name),
    ]);
    const full = history(request(three), ...often);
    given(full).when(deny(kim)).thenRefused('too-many', { limit: 256 });
    // People who sign in, and those of another front end, have room.
    given(full).when(deny(ann)).thenAccepted({ resolution: 'pending' });
    given(full)
      .when(deny(responder('shop#kim', { via: 'shop', vouchedBy: 'shop' })))
      .thenAccepted({ resolution: 'pending' });
  });

  it('does not count in place of her, where both votes were given before the names were known', () => {
    const names = ['ann', 'desk#Ann'];
    const voters = ['desk#Ann', 'ann'].map((respondedBy) => ({
      ...{ respondedBy, onBehalfOf: null, groups: ['ops'], names, isVouched: respondedBy === 'desk#Ann' },
    }));
    given(history(request(three), deny(responder('desk#Ann', { via: 'desk' })), deny('ann')))
      .when(respond('bob', { voters }))
      .thenAccepted({ endedVotes: ['desk#Ann'] });
  });
});
