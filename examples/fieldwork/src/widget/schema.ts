/** Which web sites may show the appointment form, on the wire. */
import { webOrigin } from '@freehold/vertical-host';
import { z } from 'zod';

/** A business has a few sites; a franchise has some hundred. */
const ORIGINS_MAX = 1_000;

export const widgetInput = z.strictObject({
  origins: z
    .array(webOrigin)
    .max(ORIGINS_MAX)
    .transform((origins) => [...new Set(origins)])
    .describe('The addresses of sites, such as https://shop.example'),
});
export const widgetOutput = z.object({ origins: z.array(z.string()) });
