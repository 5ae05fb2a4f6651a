/** Host names and where they lead (spec 4.3; design: control-plane-routes, "Hostnames"). */
import { tenantId } from '@freehold/contracts';
import { z } from 'zod';

export const tag = 'Hostnames';

export const hostnameText = z
  .string()
  .min(1)
  .max(253)
  .describe('A full host name without a port; an international one is stored in its ASCII form');

export const whose = tenantId
  .optional()
  .describe('Whose claim, where several tenants claim the name; a builder may leave it out');
