import { declareStopSchema, liftStopSchema, stopEffectSchema, stopsSchema } from '@countersign/contracts';
import { defineRoute } from '../route.js';

/** The stops. */
export const stopRoutes = {
  listStops: defineRoute({
    id: 'listStops',
    method: 'GET',
    path: '/v1/stops',
    tag: 'Stops',
    summary: 'List the stops that concern the tenant, the newest first; the lifted ones too',
    roles: ['approver', 'auditor', 'admin', 'stopper'],
    answers: { 200: stopsSchema },
    codes: ['unreadable', 'unavailable'],
  }),
  getStop: defineRoute({
    id: 'getStop',
    method: 'GET',
    path: '/v1/stops/:stopId',
    tag: 'Stops',
    summary: 'Read a stop: which calls run although it covers them, and which may run once it is lifted',
    roles: ['approver', 'auditor', 'admin', 'stopper'],
    answers: { 200: stopEffectSchema },
    codes: ['not-found', 'unreadable', 'unavailable'],
  }),
  declareStop: defineRoute({
    id: 'declareStop',
    method: 'POST',
    path: '/v1/stops',
    tag: 'Stops',
    summary: 'Stop calls: after the answer none that it covers is requested, approved or claimed',
    roles: ['admin', 'stopper'],
    body: declareStopSchema,
    answers: { 201: stopEffectSchema },
    codes: ['forbidden', 'too-many', 'unreadable', 'unavailable'],
  }),
  liftStop: defineRoute({
    id: 'liftStop',
    method: 'POST',
    path: '/v1/stops/:stopId/lift',
    tag: 'Stops',
    summary: 'Lift a stop: the calls that it held back may go on',
    roles: ['admin'],
    body: liftStopSchema,
    answers: { 200: stopEffectSchema },
    codes: ['not-found', 'unreadable', 'unavailable'],
  }),
} as const;
