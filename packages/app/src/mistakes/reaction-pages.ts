/** Listeners, executors and schedules. */
import { example, type MistakePage } from './page.ts';

export const reactionPages = {
  subscriber_name: {
    title: 'A name of a listener or a schedule that cannot be used',
    why: 'The name stands in the queue, in logs and in commands such as `freehold dead-letters`, so it has no blanks and no capitals.',
    fix: 'Write at most 64 lower-case letters, digits and hyphens.',
    wrong: example(`
      schedules: {
        'Every night': { cron: '0 3 * * *', operation: 'booking/remind', as: 'office' },
      },
    `),
    says: "app.schedules['Every night']: a name is lower-case letters, digits and hyphens, beginning with a letter",
    right: example(`
      schedules: {
        'every-night': { cron: '0 3 * * *', operation: 'booking/remind', as: 'office' },
      },
    `),
  },
  duplicate_subscriber: {
    title: 'One name for two subscribers',
    why: 'Names in `on` and in `executors` share one space: the queue remembers by the name who got an event already.',
    fix: 'Give one of them another name.',
    wrong: example(`
      on: {
        confirmed: { on: ['booking.confirmed'], as: 'office', operation: 'booking/remind', input: () => ({}) },
      },
      executors: {
        confirmed: { on: ['booking.confirmed'], as: 'office', run: async () => {} },
      },
    `),
    says: 'app.on.confirmed: is the name of an executor too; a name is used once',
    right: example(`
      on: {
        'remind-confirmed': { on: ['booking.confirmed'], as: 'office', operation: 'booking/remind', input: () => ({}) },
      },
      executors: {
        'mail-confirmed': { on: ['booking.confirmed'], as: 'office', run: async () => {} },
      },
    `),
  },
  event_type: {
    title: 'A listener without a type of event, or with one that is none',
    why: 'A listener gets the events whose type it names. Without one it would never run, and a type has the form `noun.verb`.',
    fix: 'Name the types as your operations emit them.',
    wrong: example(`
      executors: {
        mail: { on: ['Confirmed'], as: 'office', run: async () => {} },
      },
    `),
    says: 'app.executors.mail.on[0]: is not a type of event, which is noun.verb: Confirmed',
    right: example(`
      executors: {
        mail: { on: ['booking.confirmed'], as: 'office', run: async () => {} },
      },
    `),
  },
  cron: {
    title: 'A time that cannot be read, or never comes',
    why: 'The schedule would never run.',
    fix: 'Write five fields as in crontab(5) (minute, hour, day of the month, month, day of the week), or six with seconds first.',
    wrong: example(`
      schedules: {
        nightly: { cron: 'at night', operation: 'booking/remind', as: 'office' },
      },
    `),
    says: 'app.schedules.nightly.cron: is no cron expression that ever comes, such as 0 6 * * MON: at night',
    right: example(`
      schedules: {
        nightly: { cron: '0 3 * * *', operation: 'booking/remind', as: 'office' },
      },
    `),
  },
  timezone: {
    title: 'A time zone that is not known',
    why: 'The time of a schedule is that of a place, with its summer time. An abbreviation such as `CET` or the name of a town that has no zone is not enough.',
    fix: 'Take a name of the IANA database. Without `timezone` the times are UTC.',
    wrong: example(`
      schedules: {
        nightly: { cron: '0 3 * * *', timezone: 'Europe/Wien', operation: 'booking/remind', as: 'office' },
      },
    `),
    says: 'app.schedules.nightly.timezone: is no time zone such as Europe/Vienna: Europe/Wien',
    right: example(`
      schedules: {
        nightly: { cron: '0 3 * * *', timezone: 'Europe/Vienna', operation: 'booking/remind', as: 'office' },
      },
    `),
  },
  input_refused: {
    title: 'A fixed input that its operation does not take',
    why: 'The input of a schedule is known now, and so is the empty one of `afterwards` and of `sites`: it need not fail when its time comes.',
    fix: 'Write an input that fits the schema of the operation, or change the schema.',
    wrong: example(`
      schedules: {
        nightly: { cron: '0 3 * * *', operation: 'booking/remind', input: { days: 3 }, as: 'office' },
      },
    `),
    says: 'app.schedules.nightly.input: booking/remind does not take the input {"days":3}',
    right: example(`
      operations: {
        'booking/remind': operation({
          // …
          input: z.strictObject({ days: z.int().optional() }),
        }),
      },
      schedules: {
        nightly: { cron: '0 3 * * *', operation: 'booking/remind', input: { days: 3 }, as: 'office' },
      },
    `),
  },
} satisfies Record<string, MistakePage>;
