/** Everything that can be done in fieldwork, by name. */
import { defineOperations } from '@freehold/kernel';
import { customerOperations } from './customers/operations.ts';
import { dashboardOperations } from './dashboard/operations.ts';
import { invoiceOperations } from './invoices/operations.ts';
import { orderLifecycle } from './orders/lifecycle.ts';
import { orderOperations } from './orders/operations.ts';
import { ratesOperations } from './rates/operations.ts';
import { siteOperations } from './sites/operations.ts';

export const operations = defineOperations({
  ...customerOperations,
  ...siteOperations,
  ...orderOperations,
  ...orderLifecycle,
  ...invoiceOperations,
  ...ratesOperations,
  ...dashboardOperations,
});
