/** The scopes' operations (spec 4.3; design: control-plane-routes, "Scopes"). */
import { scopeId, tenantId } from '@freehold/contracts';
import { z } from 'zod';

export const tag = 'Scopes';

export const params = z.strictObject({ tenant: tenantId, scope: scopeId });

export const effectProblems = [
  'not_found',
  'conflict',
  'invalid_transition',
  'unsupported',
  'runtime_fault',
  'unavailable',
] as const;
