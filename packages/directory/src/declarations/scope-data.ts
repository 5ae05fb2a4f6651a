/** Reads of what a scope holds, answered by its vertical (spec 4.3.1; design: control-plane-routes, "Scope data window"). */
import { eventId, scopeId, tenantId } from '@freehold/contracts';
import { z } from 'zod';

export const tag = 'Scope data';

export const params = z.strictObject({ tenant: tenantId, scope: scopeId });

export const eventParams = z.strictObject({ ...params.shape, event: eventId });

/** The scope is named by the path, not by the query. */
export const named = { tenantId: true, scopeId: true } as const;

export const problems = ['not_found', 'unsupported', 'runtime_fault'] as const;
