"""The model of a simulated warehouse: frozen numbers with units, no process ([P] 2, [M] 5)."""

import enum

from sim.kernel.model import Model


class Warehouse(Model, frozen=True, kw_only=True):
    """Nodes that read blocks.

    Attributes:
        nodes: The number of nodes.
        workers: The number of each node's workers; each works on one task at a time.
        tasks_ahead: Tasks that a node is given beyond those its workers are busy with.
        blocks_per_task: At most. More than one batches events: a task's times are added up and waited for
        once.
        blocks_per_home: Consecutive blocks that one node reads unless another is idle.
        guided: The remaining blocks are cut into at least so many tasks for each task that nodes may have at
        once; 0 cuts nothing. Tasks then get smaller, down to one block, and all workers end at about the
        same time (guided self-scheduling: Polychronopoulos and Kuck, IEEE ToC 36(12), 1987).
        page_index: True if nodes read the page indexes of the columns of the predicate, and then only the
            pages
        that these leave.
        link_bytes_per_s: The rate of all workers of a node together.
        cache_bytes: The size of a node's cache of read blocks; the least recently used is evicted first.
    """

    nodes: int = 4
    workers: int = 2
    tasks_ahead: int = 1
    blocks_per_task: int = 1
    blocks_per_home: int = 1
    guided: int = 0
    page_index: bool = False
    link_bytes_per_s: int = 1_000_000_000
    cache_bytes: int = 0


class ObjectStore(Model, frozen=True, kw_only=True):
    """The store in which blocks lie.

    Attributes:
        first_byte_us_min, first_byte_us_max: From a request to its first byte, drawn evenly.
        bytes_per_s: The rate of one request.
        requests_per_s: The rate of all nodes together; 0 is no limit. Beyond it requests wait for their turn.
        retry_us: The delay before a failed request is repeated; it doubles each time.
        attempts_max: The number of attempts of one request before its blocks are given back.
        gap_bytes, request_bytes_max: How nodes request ranges of a file (`sim.scans.layouts.RequestOptions`).
        request_usd_per_million, egress_usd_per_gb: Prices.
    """

    first_byte_us_min: int = 20_000
    first_byte_us_max: int = 60_000
    bytes_per_s: int = 100_000_000
    requests_per_s: int = 0
    retry_us: int = 50_000
    attempts_max: int = 4
    gap_bytes: int = 0
    request_bytes_max: int = 0
    request_usd_per_million: float = 0.4
    egress_usd_per_gb: float = 0.0


class Network(Model, frozen=True, kw_only=True):
    """Messages between the control plane and nodes.

    Attributes:
        delay_us_min, delay_us_max: The delay of a message, drawn evenly, so that one may overtake another.
        bytes_per_s: The rate by which the size of a message adds to its delay.
    """

    delay_us_min: int = 200
    delay_us_max: int = 1_000
    bytes_per_s: int = 1_000_000_000


class MetadataLocation(enum.Enum):
    """The place in which block metadata is kept."""

    COLUMNAR = "columnar"
    FOOTERS = "footers"


class Metadata(Model, frozen=True, kw_only=True):
    """The metadata service.

    Attributes:
        keeping: In columns of its own, which the control plane scans, or in each block's footer, which only
        the reader of the block sees ([M] 4, 5).
        latency_us: The latency of one request to the service.
        bytes_per_s: The rate of a scan of metadata columns.
        bytes_per_block: The bytes of one column in each block's row.
        workers: Of the service, which scan together at the rates below; the work of a query counts them.
        hot: True if columns that were scanned before are kept in memory ([M] 7).
        hot_bytes_per_s: The rate of a scan of those.
        footer_bytes: The bytes that are read of a block to see its footer.
        blocks_per_chunk: Blocks whose metadata come together; the blocks of a chunk that are needed are
        dispatched while the next chunk is scanned ([M] 5.7).
        wait_us_max: The time after which the control plane goes on without metadata.
    """

    keeping: MetadataLocation = MetadataLocation.COLUMNAR
    latency_us: int = 5_000
    workers: int = 1
    bytes_per_s: int = 500_000_000
    bytes_per_block: int = 16
    hot: bool = True
    hot_bytes_per_s: int = 5_000_000_000
    footer_bytes: int = 16_384
    blocks_per_chunk: int = 100_000
    wait_us_max: int = 2_000_000


class ControlPlane(Model, frozen=True, kw_only=True):
    """The machine that plans queries and dispatches tasks.

    Attributes:
        classify_ns: The time to evaluate one conjunct for one block.
        compile_us_max: The time limit of planning one scan; what is not evaluated by then is left to nodes
        ([P] 3.2).
        read_us: The assumed time to read a block: a conjunct that takes longer than the reads it saves is
            left to
        nodes, too.
        lanes_per_chunk: The number of blocks between such decisions.
        summary_wait_us: The time for which a probe scan waits for the summary of the build side.
        summary_bytes_max: The most bytes of a summary.
        heartbeat_us: The time between heartbeats of a node.
        dead_after_us: The silence after which a node is taken for dead.
        lease_us: The time after which a task is given to a second node, too; each time that happens, it
            doubles for
        the tasks of that scan, up to a limit.
    """

    classify_ns: int = 10
    compile_us_max: int = 1_000_000
    read_us: int = 20_000
    lanes_per_chunk: int = 8_192
    summary_wait_us: int = 500_000
    summary_bytes_max: int = 65_536
    heartbeat_us: int = 100_000
    dead_after_us: int = 500_000
    lease_us: int = 2_000_000


class ScanWorld(Model, frozen=True, kw_only=True):
    """A warehouse and its surroundings.

    Attributes:
        settle_us: The time that queries have to end, once the last one has arrived and the last fault is
            over.
    """

    warehouse: Warehouse = Warehouse()
    store: ObjectStore = ObjectStore()
    network: Network = Network()
    metadata: Metadata = Metadata()
    control: ControlPlane = ControlPlane()
    settle_us: int = 120_000_000
