/** The vertical for the kernel: the manifest, the tables, the operations, schedules and subscriptions. */
import { defineVertical, type Vertical } from '@freehold/kernel';
import { resealMarks } from '../customers/person.ts';
import { CUSTOMER_PREFIX } from '../customers/schema.ts';
import { erasureSchedule, fileRemover, type RemoveFile } from '../erasure/operations.ts';
import { eraseCustomer } from '../erasure/store.ts';
import { manifest } from '../lib/manifest.ts';
import { requireFileRemovable } from '../orders/files.ts';
import { overdueSchedule, reminderSubscription } from '../reminders/operations.ts';
import { migrations } from './migrations.ts';
import { operations } from './operations.ts';

/** The work of fieldwork outside of its scopes, passed in by its platform. */
export interface FieldworkHands {
  readonly removeFile: RemoveFile;
}

export function defineFieldwork({ removeFile }: FieldworkHands): Vertical {
  return defineVertical({
    manifest,
    migrations,
    operations,
    subscriptions: { reminders: reminderSubscription },
    executors: { 'remove-files': fileRemover(removeFile) },
    schedules: { overdue: overdueSchedule, 'note-erasures': erasureSchedule },
    // The history of orders and invoices is stored for good; denials are deleted after two years.
    retention: { denialsDays: 730 },
    requireRemovable: requireFileRemovable,
    // The only persons that anything is sealed for here are customers.
    onShred: ({ sql, now }, subject) => {
      if (subject.startsWith(`${CUSTOMER_PREFIX}_`)) eraseCustomer(sql, subject, now);
    },
    reseal: ({ sql, reseal }) => resealMarks(sql, reseal),
  });
}
