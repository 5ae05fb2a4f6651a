/** Connections: a tenant's accounts with other systems (spec 4.3.14; design: control-plane-routes, "Connections"). */
import { connectionId, tenantId } from '@freehold/contracts';
import { z } from 'zod';

export const tag = 'Connections';

export const ofConnection = z.strictObject({ tenant: tenantId, connection: connectionId });

/** The problems of a change that asks a provider or a vertical first. */
export const outsideProblems = [
  'not_found',
  'conflict',
  'invalid_transition',
  'precondition_failed',
  'unsupported',
  'runtime_fault',
  'unavailable',
] as const;
