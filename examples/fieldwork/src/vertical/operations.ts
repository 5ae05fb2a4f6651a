/** Everything that can be done in fieldwork, by name. */
import { defineOperations } from '@freehold/kernel';
import { customerOperations } from '../customers/operations.ts';
import { dashboardOperations } from '../dashboard/operations.ts';
import { erasureOperations } from '../erasure/operations.ts';
import { invoiceOperations } from '../orders/invoicing.ts';
import { orderLifecycle } from '../orders/lifecycle.ts';
import { orderOperations } from '../orders/operations.ts';
import { ratesOperations } from '../rates/operations.ts';
import { reminderOperations } from '../reminders/operations.ts';
import { requestOperations } from '../requests/operations.ts';
import { siteOperations } from '../sites/operations.ts';
import { summaryOperations } from '../summaries/operations.ts';
import { widgetOperations } from '../widget/operations.ts';

export const operations = defineOperations({
  ...customerOperations,
  ...erasureOperations,
  ...siteOperations,
  ...orderOperations,
  ...orderLifecycle,
  ...invoiceOperations,
  ...summaryOperations,
  ...reminderOperations,
  ...requestOperations,
  ...widgetOperations,
  ...ratesOperations,
  ...dashboardOperations,
});
