/** Fieldwork as the kernel takes it: the manifest, the tables, the operations, and what happens by itself. */
import { defineVertical, type Vertical } from '@freehold/kernel';
import { erasureSchedule, fileRemover, type RemoveFile } from './customers/erasure.ts';
import { eraseCustomer, resealMarks } from './customers/person.ts';
import { CUSTOMER_PREFIX } from './customers/schema.ts';
import { manifest } from './manifest.ts';
import { migrations } from './migrations.ts';
import { operations } from './operations.ts';
import { overdueSchedule, reminderSubscription } from './reminders/operations.ts';

/** What fieldwork does outside of its scopes, by hands that it is lent. */
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
    // What happened to orders and invoices is kept for good; who was refused what is forgotten after two years.
    retention: { denialsDays: 730 },
    // The only persons that anything is sealed for here are customers.
    onShred: ({ sql, now }, subject) => {
      if (subject.startsWith(`${CUSTOMER_PREFIX}_`)) eraseCustomer(sql, subject, now);
    },
    reseal: ({ sql, reseal }) => resealMarks(sql, reseal),
  });
}
