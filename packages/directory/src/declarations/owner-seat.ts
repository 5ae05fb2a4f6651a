/** Who owns a scope's application, and the link that hands it over (spec 4.3.4; design: control-plane-routes, "Owner seat"). */
import { scopeId, tenantId } from '@freehold/contracts';
import { z } from 'zod';

export const tag = 'Owner seat';

export const params = z.strictObject({ tenant: tenantId, scope: scopeId });
