import { ChangeDetectionStrategy, Component, computed, effect, inject, signal, untracked, viewChild } from '@angular/core';
import { TablesConnection, type LiveRow, type SortItem } from '@pointsman/live-table';

import { PointsPanel } from '../control/points-panel';
import { LiveGrid } from '../live-grid/live-grid';
import { Activity } from '../status/activity';
import { Banner } from '../status/banner';
import { DeadLetter } from '../status/dead-letter';
import { StatusStrip } from '../status/status-strip';
import { SystemStatus } from '../status/system-status';
import { Watchdog } from '../status/watchdog';
import { Address } from './address';
import { KeyEntry } from './key-entry';
import { PageSettings } from './page-settings';
import { Theme } from './theme';
import { ViewerKey } from './viewer-key';

interface Tab {
  readonly id: string;
  readonly label: string;
}

const ACTIVITY = 'activity';
const NOTICE_MS = 10_000;
const COPIED_MS = 2_000;

/** The page: tabs of live tables, the points beside them, and what is going on. */
@Component({
  selector: 'pm-root',
  imports: [Activity, Banner, DeadLetter, KeyEntry, LiveGrid, PointsPanel, StatusStrip],
  templateUrl: './app.html',
  styleUrl: './app.css',
  changeDetection: ChangeDetectionStrategy.OnPush,
  host: { '(document:keydown)': 'shortcut($event)' },
})
export class App {
  private readonly address = inject(Address);
  private readonly settings = inject(PageSettings);
  protected readonly connection = inject(TablesConnection);
  protected readonly key = inject(ViewerKey);
  protected readonly theme = inject(Theme);
  protected readonly status = inject(SystemStatus);
  protected readonly watchdog = inject(Watchdog);
  private readonly grid = viewChild(LiveGrid);

  protected readonly embedded = this.address.initial.embedded;
  protected readonly activity = ACTIVITY;
  protected readonly tab = signal(this.address.initial.tab);
  protected readonly search = signal(this.address.initial.search);
  protected readonly sort = signal<readonly SortItem[]>(this.address.initial.sort);
  protected readonly pointsOpen = signal(false);
  protected readonly help = signal(false);
  protected readonly letter = signal<LiveRow | null>(null);
  protected readonly notice = signal('');
  protected readonly copied = signal(false);
  protected readonly needsKey = computed(() => this.key.value() === '' || this.connection.state() === 'refused');

  protected readonly tabs = computed<readonly Tab[]>(() => [
    { id: 'final_ui', label: 'Joined' },
    ...this.status.sources().map((source) => ({ id: `${source}_ui`, label: source })),
    { id: 'dead_letters', label: 'Dead letters' },
    { id: ACTIVITY, label: 'Activity' },
  ]);
  protected readonly connectionText = computed(() => {
    const state = this.connection.state();
    return state === 'connected' ? (this.watchdog.troubles().length > 0 ? 'Stale' : 'Live') : state === 'healing' ? 'Reconnecting' : 'Connecting';
  });

  constructor() {
    effect(() => {
      const key = this.key.value();
      untracked(() => (key === '' ? this.connection.close() : this.connection.open(this.settings.tablesUrl, key)));
    });
    effect(() => this.address.show({ tab: this.tab(), search: this.search(), sort: this.sort() }));
    this.announceSwitches();
  }

  protected open(tab: string): void {
    if (tab !== this.tab()) {
      this.search.set('');
      this.sort.set([]);
      this.tab.set(tab);
    }
  }

  protected choose(row: LiveRow): void {
    if (this.tab() === 'dead_letters') {
      this.letter.set(row);
    }
  }

  protected async copyAddress(): Promise<void> {
    await navigator.clipboard.writeText(location.href);
    this.copied.set(true);
    setTimeout(() => this.copied.set(false), COPIED_MS);
  }

  protected shortcut(event: KeyboardEvent): void {
    const target = event.target instanceof HTMLElement ? event.target : null;
    const typing = target?.closest('input, select, textarea, dialog') != null;
    if (event.key === 'Escape' && !typing) {
      this.help.set(false);
      return;
    }
    if (typing || event.ctrlKey || event.metaKey || event.altKey || this.needsKey()) {
      return;
    }
    const tab = this.tabs()[Number(event.key) - 1];
    if (event.key === '/') {
      this.grid()?.focusSearch();
    } else if (event.key === 'p' && !this.embedded) {
      this.pointsOpen.update((open) => !open);
    } else if (event.key === 't') {
      this.theme.next();
    } else if (event.key === '?') {
      this.help.update((open) => !open);
    } else if (tab !== undefined && !this.embedded) {
      this.open(tab.id);
    } else {
      return;
    }
    event.preventDefault();
  }

  /** A switch changes rows, not the grid: a line of text is all that tells of it. */
  private announceSwitches(): void {
    let shown: number | null = null;
    let timer: ReturnType<typeof setTimeout> | undefined;
    effect(() => {
      const row = this.status.row();
      if (row === null || row.generation === null || row.generation === shown) {
        return;
      }
      const first = shown === null;
      shown = row.generation;
      if (!first) {
        const from = row.topics.map(({ source, topic }) => `${source} ← ${topic}`).join(', ');
        untracked(() => this.notice.set(`Now showing generation ${row.generation}: ${from}, ${row.joinType} join`));
        clearTimeout(timer);
        timer = setTimeout(() => this.notice.set(''), NOTICE_MS);
      }
    });
  }
}
