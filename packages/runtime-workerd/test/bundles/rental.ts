/** The rental shop as a bundle. */
import { hostedApp } from '@freehold/app/worker/hosted';
import rental from '@freehold/rental';

export const { Instance, Declaration } = hostedApp(rental);
