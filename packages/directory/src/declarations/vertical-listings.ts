/** The listing of a vertical for tenants, and the blocks of new instances (spec 4.3; control-plane-routes, "Verticals"). */
import { slug } from '@freehold/contracts';
import { z } from 'zod';

export const tag = 'Verticals';

export const params = z.strictObject({ slug });
