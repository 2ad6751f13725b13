import { describe, expect, it } from '@jest/globals';
import type { Stop } from '@countersign/domain';
import { isCovered, stopOf, wasStoppedSince } from './coverage.js';

const at = Date.parse('2026-11-29T10:00:00.000Z');
const everything = { tenant: null, agentId: null, toolName: null };
const stop: Stop = {
  ...{ stopId: 'stop_1', scope: everything, reason: 'it pays twice', declaredBy: 'ann' },
  ...{ declaredAt: new Date(at).toISOString(), lifted: null },
};
const call = { tenant: 'acme', agentId: 'billing-1', toolName: 'refund_order' };

describe('a stop', () => {
  it('holds back a call until it is lifted', () => {
    const lifted = { ...stop, lifted: { by: 'bob', at: stop.declaredAt, reason: 'mended' } };
    expect(stopOf([lifted, stop], call)).toBe(stop);
    expect(stopOf([lifted], call)).toBeUndefined();
  });

  it.each([
    [{ tenant: 'acme' }, true],
    [{ tenant: 'other' }, false],
    [{ agentId: 'billing-*' }, true],
    [{ agentId: 'sales-*' }, false],
    [{ toolName: 'refund_order' }, true],
    [{ toolName: 'refund' }, false],
    [{ agentId: 'billing-*', toolName: 'delete_*' }, false],
  ])('of %j covers the call: %s', (scope, isInside) => {
    expect(isCovered({ scope: { ...everything, ...scope } }, call)).toBe(isInside);
  });

  it('covers a call inside a call that it covers', () => {
    const nested = { tenant: 'acme', agentId: 'helper', toolName: 'http_get', chain: [call] };
    expect(isCovered({ scope: { ...everything, agentId: 'billing-*' } }, nested)).toBe(true);
    expect(isCovered({ scope: { ...everything, toolName: 'refund_order' } }, nested)).toBe(true);
    // One call must match both, not one call each.
    expect(isCovered({ scope: { ...everything, agentId: 'helper', toolName: 'refund_order' } }, nested)).toBe(false);
  });

  it('counts as time that people did not have until it was lifted', () => {
    const lifted = { by: 'bob', at: new Date(at + 60_000).toISOString(), reason: 'mended' };
    const stops = [{ ...stop, lifted }];
    expect(wasStoppedSince(stops, call, at + 60_000)).toBe(true);
    expect(wasStoppedSince(stops, call, at + 60_001)).toBe(false);
    expect(wasStoppedSince([stop], call, at + 90_000)).toBe(true);
  });
});
